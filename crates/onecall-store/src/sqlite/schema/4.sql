ALTER TABLE calls ADD COLUMN denied_by TEXT; -- the rule that kept the call from being made
-- Tokens are no longer counted, but estimated from sizes by those who read a record: what a model would
-- have seen with direct calls, and what it saw. direct_tokens, onecall_tokens, tokens_estimated and
-- calls.tokens are of runs that were recorded before.
ALTER TABLE runs ADD COLUMN direct_bytes INTEGER;
ALTER TABLE runs ADD COLUMN onecall_bytes INTEGER;
