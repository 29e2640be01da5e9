-- The sessions of browsers that have signed in to the page.
CREATE TABLE browser_sessions (
  digest BLOB PRIMARY KEY NOT NULL,    -- SHA-256 of the secret in the cookie
  user TEXT NOT NULL,
  ends_ms INTEGER NOT NULL,
  token BLOB,                          -- SHA-256 of the token that the user has signed in with,
  groups TEXT,                         -- or else the groups that the identity provider has named, as JSON,
  confirmed_ms INTEGER                 -- and when it did
) STRICT;

CREATE INDEX browser_sessions_by_user ON browser_sessions (user);

-- The pictures that programs showed.
CREATE TABLE run_pictures (
  run_id TEXT NOT NULL,
  position INTEGER NOT NULL,           -- from 0, in the order in which they were shown
  data TEXT,                           -- base64; NULL if the picture was not kept
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- Sums over runs, by hour and by day, which an overview reads instead of all runs.
CREATE TABLE figures (
  unit_ms INTEGER NOT NULL,            -- the length of the interval
  user TEXT NOT NULL,                  -- empty for the sums over all users
  starts_ms INTEGER NOT NULL,
  tool TEXT NOT NULL,                  -- empty for the sums over runs
  counter INTEGER NOT NULL,            -- what is counted
  value INTEGER NOT NULL,
  PRIMARY KEY (unit_ms, user, starts_ms, tool, counter)
) STRICT, WITHOUT ROWID;
