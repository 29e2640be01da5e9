ALTER TABLE calls ADD COLUMN denied_by TEXT; -- the rule that kept the call from being made
