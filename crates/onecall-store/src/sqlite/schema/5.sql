-- Runs that can be continued in another process. The columns change often and are small; the texts of
-- a run are in a table of their own.
CREATE TABLE durable_runs (
  number INTEGER PRIMARY KEY NOT NULL, -- names the run in the tables below
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  client TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  configuration TEXT NOT NULL,         -- digest
  seed BLOB NOT NULL,
  state TEXT NOT NULL,                 -- running, waiting or ended
  in_place TEXT,                       -- why only the process with its worker can continue it
  fence INTEGER NOT NULL,              -- the number of its newest lease
  owner TEXT,                          -- who holds the lease; NULL if it was given up
  lease_until_ms INTEGER,
  ended_ms INTEGER                     -- NULL until it has ended
) STRICT;

CREATE INDEX durable_runs_unfinished ON durable_runs (started_ms) WHERE ended_ms IS NULL;
CREATE INDEX durable_runs_by_end ON durable_runs (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE durable_texts (
  run INTEGER PRIMARY KEY NOT NULL,
  request TEXT NOT NULL,               -- what is run, JSON
  answer TEXT                          -- of a run that has ended, JSON
) STRICT;

-- One row for each run that has not ended.
CREATE TABLE journals (
  run INTEGER PRIMARY KEY NOT NULL,
  next INTEGER NOT NULL,               -- the number of the next event
  bytes INTEGER NOT NULL               -- what the journal takes, compressed
) STRICT;

CREATE TABLE journal_events (
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,             -- from 0, without gaps
  kind TEXT NOT NULL,                  -- called, sent, ended, cancelled or observed
  head TEXT NOT NULL,                  -- its small parts, JSON
  content BLOB,                        -- arguments, a result or observations, if they are small
  value BLOB,                          -- otherwise the SHA-256 digest of the content
  checksum BLOB NOT NULL,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal_values (
  run INTEGER NOT NULL,
  digest BLOB NOT NULL,                -- SHA-256 of the whole value
  part INTEGER NOT NULL,
  length INTEGER NOT NULL,             -- of the part, uncompressed
  data BLOB NOT NULL,                  -- an LZ4 block, or the part itself if that is not longer
  PRIMARY KEY (run, digest, part)
) STRICT;

CREATE TABLE questions (
  item TEXT PRIMARY KEY NOT NULL,
  run_id TEXT NOT NULL,
  call INTEGER NOT NULL,
  kind TEXT NOT NULL,                  -- approve or unknown
  name TEXT NOT NULL,
  line INTEGER,
  arguments TEXT NOT NULL,
  rule TEXT NOT NULL,
  asked_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  ways TEXT NOT NULL,                  -- in which it may be answered, a JSON list
  state TEXT NOT NULL,                 -- open, answered or withdrawn
  verdict TEXT,                        -- JSON
  answered_by TEXT,
  way TEXT,
  answered_ms INTEGER
) STRICT;

CREATE INDEX questions_by_run ON questions (run_id, asked_ms);
CREATE INDEX questions_open ON questions (asked_ms) WHERE state = 'open';
CREATE INDEX questions_by_age ON questions (asked_ms);

-- Approvals that cover later calls.
CREATE TABLE grants (
  item TEXT PRIMARY KEY NOT NULL,      -- the question whose answer it is
  name TEXT NOT NULL,
  run_id TEXT,                         -- the run that it is limited to
  constraints TEXT NOT NULL,           -- values of arguments, JSON
  until_ms INTEGER,                    -- NULL if it ends with its run
  given_by TEXT NOT NULL
) STRICT;

CREATE INDEX grants_by_name ON grants (name);
CREATE INDEX grants_by_run ON grants (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE secrets (
  name TEXT PRIMARY KEY NOT NULL,
  value BLOB NOT NULL
) STRICT;
