-- Whether the run is in the table figures. Runs that a gateway of an older version stores are added to it later.
-- Which of the runs so far are in it is not known, so it is filled again.
ALTER TABLE runs ADD COLUMN in_figures BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX runs_not_in_figures ON runs (started_ms) WHERE NOT in_figures;
DELETE FROM figures;
