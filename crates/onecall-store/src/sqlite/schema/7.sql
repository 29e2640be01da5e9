-- People who use a gateway. A user that was removed stays here, so that no later login brings it back.
CREATE TABLE users (
  name TEXT PRIMARY KEY NOT NULL,
  folded TEXT NOT NULL UNIQUE,         -- the name without case and Unicode form
  source TEXT NOT NULL,                -- added (on the command line) or identity (of a provider)
  groups TEXT NOT NULL,                -- of an added user, a JSON list
  created_ms INTEGER NOT NULL,
  last_seen_ms INTEGER,
  removed_ms INTEGER                   -- NULL while the user may log in
) STRICT;

CREATE TABLE user_tokens (
  id TEXT PRIMARY KEY NOT NULL,        -- names the token; it is no secret
  user TEXT NOT NULL,
  digest BLOB NOT NULL UNIQUE,         -- SHA-256 of the token
  label TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  last_used_ms INTEGER
) STRICT;

CREATE INDEX user_tokens_by_user ON user_tokens (user);

-- Secrets of users and their logins to servers, encrypted.
CREATE TABLE user_secrets (
  user TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- secret or login
  name TEXT NOT NULL,                  -- of the secret, or a digest of the server that the login is for
  key_id TEXT NOT NULL,                -- which key it is encrypted with
  nonce BLOB NOT NULL,
  sealed BLOB NOT NULL,
  version INTEGER NOT NULL,            -- counts changes
  changed_ms INTEGER NOT NULL,
  PRIMARY KEY (user, kind, name)
) STRICT, WITHOUT ROWID;

-- The audit trail. Each row has the digest of itself and the row before.
CREATE TABLE audit (
  number INTEGER PRIMARY KEY NOT NULL, -- from 1, without gaps
  at_ms INTEGER NOT NULL,
  user TEXT NOT NULL,
  run_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  content TEXT NOT NULL,               -- the whole row as it is digested, JSON
  digest BLOB NOT NULL
) STRICT;

CREATE INDEX audit_by_user ON audit (user, number);
CREATE INDEX audit_by_run ON audit (run_id);

-- The newest row of the audit trail, so that rows that are missing at the end are noticed.
CREATE TABLE audit_head (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  number INTEGER NOT NULL,
  digest BLOB NOT NULL
) STRICT;

-- What is left of rows that were removed because of their age: the digest of the last of them, and how
-- many rows there were.
CREATE TABLE audit_checkpoints (
  number INTEGER PRIMARY KEY NOT NULL, -- of the last row that was removed
  removed INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  digest BLOB NOT NULL,                -- of that row
  seal BLOB NOT NULL                   -- of this row and the checkpoint before
) STRICT;

ALTER TABLE runs ADD COLUMN user TEXT NOT NULL DEFAULT 'local';
CREATE INDEX runs_by_user ON runs (user, started_ms);
ALTER TABLE durable_runs ADD COLUMN user TEXT NOT NULL DEFAULT 'local';
ALTER TABLE durable_runs ADD COLUMN groups TEXT NOT NULL DEFAULT '[]'; -- of the user when the run began, JSON
ALTER TABLE grants ADD COLUMN user TEXT NOT NULL DEFAULT 'local';
