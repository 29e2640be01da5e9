-- The line of the program where the error happened that ended the run.
ALTER TABLE runs ADD COLUMN error_line BIGINT;
