-- Erasures are worked on in batches: those that are in force when their models are traced are traced, purged, replaced
-- and checked as one. Rows of erasure_model, and replacements in model, name the batch in `erasure`.
ALTER TABLE erasure ADD COLUMN batch bigint NOT NULL DEFAULT 0; -- number of its first erasure; 0: in none yet
ALTER TABLE erasure ADD COLUMN verified boolean NOT NULL DEFAULT false; -- storage has verified its part
UPDATE erasure SET batch = number WHERE state NOT IN ('ACCEPTED', 'TRACING');
CREATE INDEX erasure_of_batch ON erasure (batch);
CREATE INDEX erasure_open ON erasure (state, number) WHERE state <> 'FINISHED';
CREATE INDEX erasure_by_receipt ON erasure (receipt_order) WHERE receipt_order > 0;
CREATE INDEX erasure_block_by_block ON erasure_block (block);
-- Most people have few samples: `rows` lists them, two bytes each, instead of `bits`, where that is shorter.
ALTER TABLE erasure_block ADD COLUMN rows bytea NOT NULL DEFAULT '';
