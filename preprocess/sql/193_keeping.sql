-- The place at which rows are kept, if that is left to choice: what it was chosen by, packed like the rest of a plan, and
-- what is foretold of the samples of a job.
ALTER TABLE plan ADD COLUMN keeping bytea NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN later double precision NOT NULL DEFAULT 0; -- trainings that a sample will be in
ALTER TABLE job ADD COLUMN seen double precision NOT NULL DEFAULT 0;  -- share of them that the one before had
