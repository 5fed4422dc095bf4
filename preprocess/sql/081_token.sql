-- What the consumers of a job must show: the token of the run that it serves. A job of an older Weir has none until the
-- orchestrator opens it again.
ALTER TABLE job ADD COLUMN token text NOT NULL DEFAULT '';
