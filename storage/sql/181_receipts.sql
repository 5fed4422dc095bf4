-- Receipts say records and files apart, and how much of which place was searched.
ALTER TABLE erasure RENAME COLUMN files_scrubbed TO records_scrubbed;
ALTER TABLE erasure ADD COLUMN files_scrubbed bigint NOT NULL DEFAULT 0; -- that these records were in
ALTER TABLE erasure ADD COLUMN search bigint NOT NULL DEFAULT 0;         -- that has verified it; 0: not kept
ALTER TABLE erasure_ids ADD COLUMN records bigint NOT NULL DEFAULT 0;    -- of them, `files` were files of their own
ALTER TABLE erasure_ids ADD COLUMN touched bytea NOT NULL DEFAULT '';    -- the files of the others, 8 bytes each
-- Of what an older Weir has overwritten already, nobody has counted the files: at most so many.
UPDATE erasure SET files_scrubbed = records_scrubbed WHERE verified_us = 0;
UPDATE erasure_ids SET records = files WHERE erasure IN (SELECT number FROM erasure WHERE scrubbed_us = 0);

CREATE TABLE search (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    places text NOT NULL -- one a line: files, bytes, name (storage/erasure/search_places.h)
);
