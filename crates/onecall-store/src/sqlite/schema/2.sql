ALTER TABLE runs ADD COLUMN argv TEXT; -- of a program from a command line: what sys.argv had, JSON
