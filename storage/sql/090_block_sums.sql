-- Checksums of the blocks of files that storage owns (storage/sums/block_sum.h). Those of a store from before are made
-- when there is nothing else to do.
CREATE TABLE block_sum (
    dataset bigint NOT NULL,
    file    bigint NOT NULL, -- its number; of part 0 that of the first of 128 files
    part    bigint NOT NULL,
    sums    bytea  NOT NULL,
    PRIMARY KEY (dataset, file, part)
);
ALTER TABLE block_sum ALTER COLUMN sums SET STORAGE EXTERNAL;
