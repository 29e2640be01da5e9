-- The line of the program where the error happened that ended the run.
ALTER TABLE runs ADD COLUMN error_line BIGINT;

-- How many calls and programs of each user a gateway has, as JSON.
ALTER TABLE gateways ADD COLUMN usage TEXT COLLATE "C" NOT NULL DEFAULT '{}';
