-- Rows that were kept of the samples of an erasure's batch, and are overwritten.
ALTER TABLE erasure ADD COLUMN cache_purged bigint NOT NULL DEFAULT 0;
