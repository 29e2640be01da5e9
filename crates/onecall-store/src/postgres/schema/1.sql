-- Moments are milliseconds since 1970 (UTC), durations are microseconds:
--   SELECT id, to_timestamp(started_ms / 1000.0), outcome, duration_us / 1e6 FROM onecall.runs;
-- Texts are compared byte by byte. A text that contains a NUL character, which PostgreSQL cannot store,
-- is written with U+10FFFF and a digit in its place.

CREATE TABLE runs (
  id TEXT COLLATE "C" PRIMARY KEY,
  started_ms BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  client TEXT COLLATE "C" NOT NULL,          -- the client that asked for it
  kind TEXT COLLATE "C" NOT NULL,            -- program, plan or exec
  language TEXT COLLATE "C" NOT NULL,
  engine TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C",
  program_sha256 TEXT COLLATE "C" NOT NULL,  -- of the program as it was received
  program TEXT COLLATE "C" NOT NULL,         -- without secrets of the configuration
  argv TEXT COLLATE "C",                     -- of a program from a command line, JSON
  outcome TEXT COLLATE "C" NOT NULL,         -- ok, or why it failed
  error_kind TEXT COLLATE "C",
  error_message TEXT COLLATE "C",
  duration_us BIGINT NOT NULL,
  output_bytes BIGINT NOT NULL,
  output_truncated BOOLEAN NOT NULL,
  calls BIGINT NOT NULL,                     -- may be more than there are in the table calls
  failed_calls BIGINT NOT NULL,
  cached_calls BIGINT NOT NULL,
  direct_bytes BIGINT,                       -- what a model would have seen with direct calls
  onecall_bytes BIGINT,                      -- what it saw
  direct_tokens BIGINT,                      -- counted by older versions
  onecall_tokens BIGINT,
  tokens_estimated BOOLEAN,
  detail TEXT COLLATE "C" NOT NULL,          -- metadata or full
  output TEXT COLLATE "C",                   -- full only
  tools TEXT COLLATE "C",                    -- full only: definitions of the tools called, JSON
  stored_bytes BIGINT NOT NULL               -- what the run takes here, about
);

CREATE INDEX runs_by_time ON runs (started_ms, stored_bytes);
CREATE INDEX runs_by_user ON runs ("user", started_ms);

CREATE TABLE calls (
  run_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,                  -- in the order in which they began
  name TEXT COLLATE "C" NOT NULL,            -- as the program wrote it
  server TEXT COLLATE "C" NOT NULL,
  arguments_sha256 TEXT COLLATE "C" NOT NULL,
  arguments_bytes BIGINT NOT NULL,
  result_bytes BIGINT NOT NULL,
  started_us BIGINT NOT NULL,                -- since the start of the run
  duration_us BIGINT,                        -- NULL if the run ended first
  error TEXT COLLATE "C",
  denied_by TEXT COLLATE "C",                -- the rule that kept the call from being made
  cached BOOLEAN NOT NULL,
  tokens BIGINT,                             -- counted by older versions
  arguments TEXT COLLATE "C",                -- full only
  result_kind TEXT COLLATE "C",              -- full only: nothing, json or text
  result TEXT COLLATE "C",                   -- full only
  PRIMARY KEY (run_id, position)
);

-- The journals of runs that have ended and whose record is full. `onecall runs replay` repeats a run with
-- its journal.
CREATE TABLE record_journals (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  obstacle TEXT COLLATE "C",                 -- why there is no journal, JSON; the others are NULL then
  seed BYTEA,                                -- makes the random numbers of the program
  length BIGINT,                             -- of the events, uncompressed
  events BYTEA,                              -- an LZ4 block, without secrets of the configuration
  checksum BYTEA                             -- SHA-256 of the run's id, the seed and the events
);

CREATE TABLE shapes (
  server TEXT COLLATE "C" NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,
  schema TEXT COLLATE "C" NOT NULL,          -- tells the tool's definitions apart
  samples BIGINT NOT NULL,
  shape TEXT COLLATE "C" NOT NULL,           -- JSON
  PRIMARY KEY (server, tool, schema)
);

CREATE TABLE answers (
  key BYTEA PRIMARY KEY,                     -- of server, tool and arguments
  server TEXT COLLATE "C" NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,
  stored_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  hits BIGINT NOT NULL DEFAULT 0,
  bytes BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,            -- nothing, json or text
  value TEXT COLLATE "C" NOT NULL
);

CREATE INDEX answers_by_tool ON answers (server, tool, expires_ms, bytes, hits);
CREATE INDEX answers_by_age ON answers (stored_ms, bytes);

CREATE TABLE listings (
  key BYTEA PRIMARY KEY,                     -- of the server's entry in a configuration
  server TEXT COLLATE "C" NOT NULL,
  seen_ms BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  tools TEXT COLLATE "C" NOT NULL            -- definitions, JSON
);

CREATE INDEX listings_by_server ON listings (server, seen_ms);
CREATE INDEX listings_by_age ON listings (seen_ms, bytes);

-- Runs that can be continued in another process. The columns change often and are small; the texts of
-- a run are in a table of their own.
CREATE TABLE durable_runs (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- names the run in the tables below
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  kind TEXT COLLATE "C" NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  groups TEXT COLLATE "C" NOT NULL,          -- of the user when the run began, JSON
  client TEXT COLLATE "C" NOT NULL,
  started_ms BIGINT NOT NULL,
  configuration TEXT COLLATE "C" NOT NULL,   -- digest
  seed BYTEA NOT NULL,
  state TEXT COLLATE "C" NOT NULL,           -- running, waiting or ended
  in_place TEXT COLLATE "C",                 -- why only the process with its worker can continue it
  fence BIGINT NOT NULL,                     -- the number of its newest lease
  owner TEXT COLLATE "C",                    -- who holds the lease; NULL if it was given up
  lease_until_ms BIGINT,
  ended_ms BIGINT                            -- NULL until it has ended
);

CREATE INDEX durable_runs_unfinished ON durable_runs (started_ms, number) WHERE ended_ms IS NULL;
CREATE INDEX durable_runs_by_end ON durable_runs (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE durable_texts (
  run BIGINT PRIMARY KEY,
  request TEXT COLLATE "C" NOT NULL,         -- what is run, JSON
  answer TEXT COLLATE "C"                    -- of a run that has ended, JSON
);

-- One row for each run that has not ended.
CREATE TABLE journals (
  run BIGINT PRIMARY KEY,
  next BIGINT NOT NULL,                      -- the number of the next event
  bytes BIGINT NOT NULL                      -- what the journal takes, compressed
);

CREATE TABLE journal_events (
  run BIGINT NOT NULL,
  number BIGINT NOT NULL,                    -- from 0, without gaps
  kind TEXT COLLATE "C" NOT NULL,            -- called, sent, ended, cancelled or observed
  head TEXT COLLATE "C" NOT NULL,            -- its small parts, JSON
  content BYTEA,                             -- arguments, a result or observations, if they are small
  value BYTEA,                               -- otherwise the SHA-256 digest of the content
  checksum BYTEA NOT NULL,
  PRIMARY KEY (run, number)
);

CREATE TABLE journal_values (
  run BIGINT NOT NULL,
  digest BYTEA NOT NULL,                     -- SHA-256 of the whole value
  part BIGINT NOT NULL,
  length BIGINT NOT NULL,                    -- of the part, uncompressed
  data BYTEA NOT NULL,                       -- an LZ4 block, or the part itself if that is not longer
  PRIMARY KEY (run, digest, part)
);

CREATE TABLE questions (
  item TEXT COLLATE "C" PRIMARY KEY,
  number BIGINT GENERATED ALWAYS AS IDENTITY, -- in the order in which they were asked
  run_id TEXT COLLATE "C" NOT NULL,
  call BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,            -- approve or unknown
  name TEXT COLLATE "C" NOT NULL,
  line BIGINT,
  arguments TEXT COLLATE "C" NOT NULL,
  rule TEXT COLLATE "C" NOT NULL,
  asked_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  ways TEXT COLLATE "C" NOT NULL,            -- in which it may be answered, a JSON list
  state TEXT COLLATE "C" NOT NULL,           -- open, answered or withdrawn
  verdict TEXT COLLATE "C",                  -- JSON
  answered_by TEXT COLLATE "C",
  way TEXT COLLATE "C",
  answered_ms BIGINT
);

CREATE INDEX questions_by_run ON questions (run_id, asked_ms, number);
CREATE INDEX questions_open ON questions (asked_ms, number) WHERE state = 'open';
CREATE INDEX questions_by_age ON questions (asked_ms);

-- Approvals that cover later calls.
CREATE TABLE grants (
  item TEXT COLLATE "C" PRIMARY KEY,         -- the question whose answer it is
  name TEXT COLLATE "C" NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C",                   -- the run that it is limited to
  constraints TEXT COLLATE "C" NOT NULL,     -- values of arguments, JSON
  until_ms BIGINT,                           -- NULL if it ends with its run
  given_by TEXT COLLATE "C" NOT NULL
);

CREATE INDEX grants_by_name ON grants (name);
CREATE INDEX grants_by_run ON grants (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE secrets (
  name TEXT COLLATE "C" PRIMARY KEY,
  value BYTEA NOT NULL
);

-- People who use a gateway. A user that was removed stays here, so that no later login brings it back.
CREATE TABLE users (
  name TEXT COLLATE "C" PRIMARY KEY,
  folded TEXT COLLATE "C" NOT NULL UNIQUE,   -- the name without case and Unicode form
  source TEXT COLLATE "C" NOT NULL,          -- added (on the command line) or identity (of a provider)
  groups TEXT COLLATE "C" NOT NULL,          -- of an added user, a JSON list
  provider_groups TEXT COLLATE "C" NOT NULL DEFAULT '[]', -- of the last login through a provider
  created_ms BIGINT NOT NULL,
  last_seen_ms BIGINT,
  removed_ms BIGINT                          -- NULL while the user may log in
);

CREATE TABLE user_tokens (
  id TEXT COLLATE "C" PRIMARY KEY,           -- names the token; it is no secret
  "user" TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL UNIQUE,              -- SHA-256 of the token
  label TEXT COLLATE "C" NOT NULL,
  created_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  last_used_ms BIGINT
);

CREATE INDEX user_tokens_by_user ON user_tokens ("user");

-- Secrets of users and their logins to servers, encrypted.
CREATE TABLE user_secrets (
  "user" TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,            -- secret or login
  name TEXT COLLATE "C" NOT NULL,            -- of the secret, or a digest of the login's server
  key_id TEXT COLLATE "C" NOT NULL,          -- which key it is encrypted with
  nonce BYTEA NOT NULL,
  sealed BYTEA NOT NULL,
  version BIGINT NOT NULL,                   -- counts changes
  changed_ms BIGINT NOT NULL,
  PRIMARY KEY ("user", kind, name)
);

-- The audit trail. Each row has the digest of itself and the row before.
CREATE TABLE audit (
  number BIGINT PRIMARY KEY,                 -- from 1, without gaps
  at_ms BIGINT NOT NULL,
  "user" TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C" NOT NULL,         -- the whole row as it is digested, JSON
  digest BYTEA NOT NULL
);

CREATE INDEX audit_by_user ON audit ("user", number);
CREATE INDEX audit_by_run ON audit (run_id);

-- The newest row of the audit trail, so that rows that are missing at the end are noticed.
CREATE TABLE audit_head (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  number BIGINT NOT NULL,
  digest BYTEA NOT NULL
);

-- What is left of rows that were removed because of their age: the digest of the last of them, and how
-- many rows there were.
CREATE TABLE audit_checkpoints (
  number BIGINT PRIMARY KEY,                 -- of the last row that was removed
  removed BIGINT NOT NULL,
  at_ms BIGINT NOT NULL,
  digest BYTEA NOT NULL,                     -- of that row
  seal BYTEA NOT NULL                        -- of this row and the checkpoint before
);

-- The gateways that share the store, and until when each of them counts as alive.
CREATE TABLE gateways (
  id TEXT COLLATE "C" PRIMARY KEY,
  address TEXT COLLATE "C" NOT NULL,
  until_ms BIGINT NOT NULL
);
