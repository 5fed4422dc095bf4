-- Batches ask again and again which of their receipts are due, and whether any is left: of a hundred thousand open
-- erasures no other one is looked at.
CREATE INDEX erasure_due ON erasure (batch, number) WHERE state = 'VERIFYING' AND verified;
CREATE INDEX erasure_unfinished ON erasure (batch) WHERE state <> 'FINISHED';
CREATE INDEX erasure_open_by_number ON erasure (number) WHERE state <> 'FINISHED';
