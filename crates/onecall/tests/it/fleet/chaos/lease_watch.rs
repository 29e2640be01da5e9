//! Watches leases inside the database, independently of what gateways say: who took each lease, and who wrote
//! each event of a journal.

use std::collections::HashSet;

use testkit::postgres::PostgresServer;

/// Notes each lease that is taken and each event that is written, with the connection's name, which is that
/// of the gateway.
const TRIGGERS: &str = r"
CREATE SCHEMA watch;
CREATE TABLE watch.log (
  number BIGINT GENERATED ALWAYS AS IDENTITY,
  run BIGINT NOT NULL,
  what TEXT NOT NULL,
  gateway TEXT NOT NULL,
  fence BIGINT,
  fault TEXT
);
CREATE INDEX ON watch.log (run, number);

CREATE FUNCTION watch.note_lease() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  fault TEXT;
  now_ms BIGINT := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.fence = OLD.fence THEN
      IF NEW.owner IS DISTINCT FROM OLD.owner AND NEW.owner IS NOT NULL THEN
        fault := 'a lease has a new owner and its old number';
      ELSE
        RETURN NEW;
      END IF;
    ELSIF NEW.fence <> OLD.fence + 1 THEN
      fault := format('the number of a lease goes from %s to %s', OLD.fence, NEW.fence);
    ELSIF NEW.ended_ms IS NULL AND OLD.owner IS NOT NULL AND OLD.lease_until_ms > now_ms + 50 THEN
      fault := format('a lease is taken %s ms before it ends', OLD.lease_until_ms - now_ms);
    ELSIF OLD.ended_ms IS NOT NULL THEN
      fault := 'a run that has ended gets a lease';
    END IF;
  END IF;
  -- A run that was refused may be stored together with its end.
  IF NEW.ended_ms IS NULL OR TG_OP = 'INSERT' THEN
    INSERT INTO watch.log (run, what, gateway, fence, fault)
      VALUES (NEW.number, 'lease', current_setting('application_name'), NEW.fence, fault);
  END IF;
  IF NEW.ended_ms IS NOT NULL THEN
    INSERT INTO watch.log (run, what, gateway, fence, fault)
      VALUES (NEW.number, 'end', current_setting('application_name'), NEW.fence, fault);
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION watch.note_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO watch.log (run, what, gateway)
    VALUES (NEW.run, 'event', current_setting('application_name'));
  RETURN NEW;
END $$;

CREATE TRIGGER watch_leases AFTER INSERT OR UPDATE ON onecall.durable_runs
  FOR EACH ROW EXECUTE FUNCTION watch.note_lease();
CREATE TRIGGER watch_events AFTER INSERT ON onecall.journal_events
  FOR EACH ROW EXECUTE FUNCTION watch.note_event();
";

/// What is wrong with what was noted: an event or an end that comes from another gateway than the one with
/// the newest lease, or a lease that was not free.
const FAULTS: &str = r"
WITH leases AS (
  SELECT *, (SELECT l.gateway FROM watch.log l
             WHERE l.run = e.run AND l.what = 'lease' AND l.number <= e.number
             ORDER BY l.number DESC LIMIT 1) AS holder
  FROM watch.log e
)
SELECT id || ': ' || coalesce(fault, what || ' of ' || gateway || ', but the lease is of ' || holder)
FROM leases JOIN onecall.durable_runs ON durable_runs.number = leases.run
WHERE fault IS NOT NULL OR (what <> 'lease' AND gateway IS DISTINCT FROM holder)
ORDER BY leases.number
";

/// The runs of clients that were executed more than once, or have not ended.
const UNUSUAL_RUNS: &str = r"
SELECT client || ' has ' || count(*) || ' runs, of which ' || count(ended_ms) || ' have ended'
FROM onecall.durable_runs GROUP BY client HAVING count(*) <> 1 OR count(ended_ms) <> 1
ORDER BY client
";

/// The runs of which nothing was noted: the watch does not work.
const UNWATCHED_RUNS: &str = r"
SELECT id || ': the watch has not noted its lease or its end' FROM onecall.durable_runs
WHERE NOT EXISTS (SELECT 1 FROM watch.log WHERE run = durable_runs.number AND what = 'lease')
  OR NOT EXISTS (SELECT 1 FROM watch.log WHERE run = durable_runs.number AND what = 'end')
  OR EXISTS (SELECT 1 FROM watch.log WHERE run = durable_runs.number AND gateway NOT LIKE 'gateway-%')
ORDER BY id
";

/// How many leases were taken from a gateway that had one, and how many events were written.
const COUNTS: &str =
    "SELECT count(*) FILTER (WHERE what = 'lease' AND fence > 1) || ' leases taken over, '
  || count(*) FILTER (WHERE what = 'event') || ' events' FROM watch.log";

/// The watch of one database.
pub struct LeaseWatch<'a> {
    pub server: &'a PostgresServer,
    pub url: &'a str,
}

impl LeaseWatch<'_> {
    /// Begins to watch a database that has its tables.
    pub fn begin(&self) {
        self.server.execute(self.url, TRIGGERS);
    }

    /// Everything that must not have happened.
    pub fn faults(&self) -> Vec<String> {
        let found = |query| self.server.execute(self.url, query);
        let texts = [found(FAULTS), found(UNUSUAL_RUNS), found(UNWATCHED_RUNS)];
        texts.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
    }

    /// The names of the clients that have a run.
    pub fn clients(&self) -> HashSet<String> {
        let found = self.server.execute(self.url, "SELECT client FROM onecall.durable_runs");
        found.lines().map(str::to_owned).collect()
    }

    /// How many leases were taken from a gateway that had one.
    pub fn taken_over(&self) -> u64 {
        let count = "SELECT count(*) FROM watch.log WHERE what = 'lease' AND fence > 1";
        self.server.execute(self.url, count).parse().expect("a count")
    }

    /// What was noted, in short.
    pub fn summary(&self) -> String {
        self.server.execute(self.url, COUNTS)
    }
}
