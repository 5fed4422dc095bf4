-- Columns of the datasets that a job reads, as in the message job_open.
ALTER TABLE job ADD COLUMN tables bytea NOT NULL DEFAULT '';
