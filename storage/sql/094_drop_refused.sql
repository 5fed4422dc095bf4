-- Orders to overwrite what became no sample, where it still stands (storage/erasure/dropping.h).
ALTER TABLE erasure
    ADD COLUMN drops_refused boolean NOT NULL DEFAULT false,
    ADD COLUMN dropped       text NOT NULL DEFAULT ''; -- for the receipt: a sentence for each dataset
CREATE TABLE erasure_dropped ( -- until all files of the dataset are done with
    erasure    bigint NOT NULL,
    dataset    bigint NOT NULL,
    files      bigint NOT NULL,
    records    bigint NOT NULL,           -- of the quarantine
    duplicates bigint NOT NULL DEFAULT 0,
    names      text NOT NULL,             -- of the first 20 files
    PRIMARY KEY (erasure, dataset)
);
CREATE SEQUENCE changes_of_erasure_dropped;
CREATE TRIGGER counts_changes BEFORE UPDATE OR DELETE ON erasure_dropped
    FOR EACH STATEMENT EXECUTE FUNCTION count_change();
