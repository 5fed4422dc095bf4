-- What becomes of erased records that come again (storage/intake/guard.h).
ALTER TABLE dataset
    ADD COLUMN accepts_returns boolean NOT NULL DEFAULT false,
    ADD COLUMN returned bigint NOT NULL DEFAULT 0; -- of `ingested`: had been erased before

-- Records that are kept out are counted as `blocked`, file by file; `met` counts those of an older Weir, and
-- one-sample files, whose names are not kept.
ALTER TABLE quarantine ADD COLUMN is_blocked boolean NOT NULL DEFAULT false;
