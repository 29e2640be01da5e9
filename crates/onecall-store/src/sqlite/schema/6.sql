-- The journals of runs that have ended and whose record is full. `onecall runs replay` repeats a run with
-- its journal.
CREATE TABLE record_journals (
  run_id TEXT PRIMARY KEY NOT NULL,
  obstacle TEXT,                     -- why there is no journal, JSON; the other columns are NULL then
  seed BLOB,                         -- makes the random numbers of the program
  length INTEGER,                    -- of the events, uncompressed
  events BLOB,                       -- an LZ4 block, without secrets of the configuration
  checksum BLOB                      -- SHA-256 of the run's id, the seed and the uncompressed events
) STRICT;
