CREATE TABLE listings (
  key BLOB PRIMARY KEY NOT NULL,     -- of the server's entry in a configuration
  server TEXT NOT NULL,
  seen_ms INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  tools TEXT NOT NULL                -- definitions, JSON
) STRICT;

CREATE INDEX listings_by_server ON listings (server, seen_ms);
CREATE INDEX listings_by_age ON listings (seen_ms, bytes);
