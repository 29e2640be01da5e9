-- The definitions of tools that a person has accepted, for each server with `pin: true`.
CREATE TABLE pins (
  key TEXT COLLATE "C" PRIMARY KEY,    -- a digest of the server's name and its command or address
  content TEXT NOT NULL,               -- JSON
  version BIGINT NOT NULL,             -- counts changes
  changed_ms BIGINT NOT NULL
);

-- The sessions of browsers that have signed in to the page.
CREATE TABLE browser_sessions (
  digest BYTEA PRIMARY KEY,                  -- SHA-256 of the secret in the cookie
  "user" TEXT COLLATE "C" NOT NULL,
  ends_ms BIGINT NOT NULL,
  token BYTEA,                               -- SHA-256 of the token that the user has signed in with,
  groups TEXT COLLATE "C",                   -- or else the groups that the identity provider has named, as JSON,
  confirmed_ms BIGINT                        -- and when it did
);

CREATE INDEX browser_sessions_by_user ON browser_sessions ("user");

-- The pictures that programs showed.
CREATE TABLE run_pictures (
  run_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,                  -- from 0, in the order in which they were shown
  data TEXT COLLATE "C",                     -- base64; NULL if the picture was not kept
  PRIMARY KEY (run_id, position)
);

-- Sums over runs, by hour and by day, which an overview reads instead of all runs.
CREATE TABLE figures (
  unit_ms BIGINT NOT NULL,                   -- the length of the interval
  "user" TEXT COLLATE "C" NOT NULL,          -- empty for the sums over all users
  starts_ms BIGINT NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,            -- empty for the sums over runs
  counter BIGINT NOT NULL,                   -- what is counted
  value BIGINT NOT NULL,
  PRIMARY KEY (unit_ms, "user", starts_ms, tool, counter)
);
