-- How far the scaling policy of a job has come, for the dispatcher after a crash; '': nowhere.
ALTER TABLE job ADD COLUMN scaling bytea NOT NULL DEFAULT '';
