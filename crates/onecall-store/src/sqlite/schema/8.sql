-- The gateways that share the store, and until when each of them counts as alive.
CREATE TABLE gateways (
  id TEXT PRIMARY KEY,
  address TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The groups that the identity provider gave a user at the last login.
ALTER TABLE users ADD COLUMN provider_groups TEXT NOT NULL DEFAULT '[]';
