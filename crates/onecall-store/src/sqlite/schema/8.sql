-- The gateways that share the store, until when each of them counts as alive, and how many calls and
-- programs of each user it has, as JSON.
CREATE TABLE gateways (
  id TEXT PRIMARY KEY,
  address TEXT NOT NULL,
  until_ms INTEGER NOT NULL,
  usage TEXT NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;

-- The groups that the identity provider gave a user at the last login.
ALTER TABLE users ADD COLUMN provider_groups TEXT NOT NULL DEFAULT '[]';
