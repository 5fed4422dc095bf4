-- From data to model: when each step of a trigger was committed, beside fired_us. NULL: it was not taken, or not yet.
ALTER TABLE trigger
    ADD COLUMN arrived_us     bigint, -- live: the first of its new samples was taken from the feed
    ADD COLUMN sealed_us      bigint,
    ADD COLUMN first_batch_us bigint, -- it reached the trainer
    ADD COLUMN trained_us     bigint,
    ADD COLUMN stored_us      bigint,
    ADD COLUMN evaluated_us   bigint; -- for the first time

ALTER TABLE pipeline ADD COLUMN pending_us bigint; -- live: the first of the pending samples was taken
ALTER TABLE run ADD COLUMN first_batch_us bigint;
