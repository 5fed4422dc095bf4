-- What the trainers of a run have held, and for how long, until they were done. What pipelines have had of their shares is told
-- from it after a restart.
ALTER TABLE run
    ADD COLUMN gpus       bigint NOT NULL DEFAULT 0,
    ADD COLUMN held_ns    bigint NOT NULL DEFAULT 0,
    ADD COLUMN started_us bigint NOT NULL DEFAULT 0; -- the newest of its trainers
