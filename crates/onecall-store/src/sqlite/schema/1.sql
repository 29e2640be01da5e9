-- Moments are milliseconds since 1970 (UTC), durations are microseconds:
--   SELECT id, datetime(started_ms / 1000, 'unixepoch'), outcome, duration_us / 1e6 FROM runs;

CREATE TABLE runs (
  id TEXT PRIMARY KEY NOT NULL,      -- in the order of time
  started_ms INTEGER NOT NULL,
  client TEXT NOT NULL,              -- who asked for it
  kind TEXT NOT NULL,                -- program, plan or exec
  language TEXT NOT NULL,
  engine TEXT NOT NULL,
  session TEXT,
  program_sha256 TEXT NOT NULL,      -- of the program as it came
  program TEXT NOT NULL,             -- without secrets of the configuration
  outcome TEXT NOT NULL,             -- ok, or why it failed
  error_kind TEXT,
  error_message TEXT,
  duration_us INTEGER NOT NULL,
  output_bytes INTEGER NOT NULL,
  output_truncated INTEGER NOT NULL,
  calls INTEGER NOT NULL,            -- may be more than there are in the table calls
  failed_calls INTEGER NOT NULL,
  cached_calls INTEGER NOT NULL,
  direct_tokens INTEGER,             -- what a model would have seen with direct calls
  onecall_tokens INTEGER,            -- what it saw
  tokens_estimated INTEGER,
  detail TEXT NOT NULL,              -- metadata or full
  output TEXT,                       -- full only
  tools TEXT,                        -- full only: definitions of the tools called, JSON
  stored_bytes INTEGER NOT NULL      -- what the run takes here, about
) STRICT;

CREATE INDEX runs_by_time ON runs (started_ms, stored_bytes);

CREATE TABLE calls (
  run_id TEXT NOT NULL,
  position INTEGER NOT NULL,         -- in the order in which they began
  name TEXT NOT NULL,                -- as the program wrote it
  server TEXT NOT NULL,
  arguments_sha256 TEXT NOT NULL,
  arguments_bytes INTEGER NOT NULL,
  result_bytes INTEGER NOT NULL,
  started_us INTEGER NOT NULL,       -- since the start of the run
  duration_us INTEGER,               -- NULL if the run ended first
  error TEXT,
  cached INTEGER NOT NULL,
  tokens INTEGER,                    -- with a direct call
  arguments TEXT,                    -- full only
  result_kind TEXT,                  -- full only: nothing, json or text
  result TEXT,                       -- full only
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE shapes (
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  schema TEXT NOT NULL,              -- tells the tool's definitions apart
  samples INTEGER NOT NULL,
  shape TEXT NOT NULL,               -- JSON
  PRIMARY KEY (server, tool, schema)
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
  key BLOB PRIMARY KEY NOT NULL,     -- of server, tool and arguments
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  stored_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  hits INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL,
  kind TEXT NOT NULL,                -- nothing, json or text
  value TEXT NOT NULL
) STRICT;

CREATE INDEX answers_by_tool ON answers (server, tool, expires_ms, bytes, hits);
CREATE INDEX answers_by_age ON answers (stored_ms, bytes);
