-- How often a process has disappeared that executed the run, without giving its lease up.
ALTER TABLE durable_runs ADD COLUMN interruptions BIGINT NOT NULL DEFAULT 0;
-- Sums are removed by their age.
CREATE INDEX figures_by_age ON figures (starts_ms);
