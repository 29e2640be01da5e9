-- Whether the run is in the table figures. Runs that an older version stores are added to it later. Which of
-- the runs so far are in it is not known, so it is filled again.
ALTER TABLE runs ADD COLUMN in_figures INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_not_in_figures ON runs (started_ms) WHERE in_figures = 0;
DELETE FROM figures;
