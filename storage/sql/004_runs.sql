-- Which samples a keyed hash means: sorted runs (storage/key_index.h), merged in the background.

CREATE TABLE run (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dataset bigint NOT NULL,
    kind bigint NOT NULL, -- key_kind
    count bigint NOT NULL,
    is_own boolean NOT NULL,      -- its segments are a partition of their own
    is_complete boolean NOT NULL, -- false: a merge is writing it
    fences bytea NOT NULL, -- u32 for each segment: the upper half of its first hash
    filter bytea NOT NULL  -- storage/run_filter.h; empty: none
);
ALTER TABLE run
    ALTER COLUMN fences SET STORAGE EXTERNAL,
    ALTER COLUMN filter SET STORAGE EXTERNAL;
CREATE INDEX run_dataset ON run (dataset);

-- Large runs have a partition each, so that dropping one gives its space back at once.
CREATE TABLE run_segment (
    run bigint NOT NULL,
    number bigint NOT NULL, -- in its run, from 0
    bytes bytea NOT NULL,   -- storage/run_segment.h; empty: all of it was erased
    PRIMARY KEY (run, number)
) PARTITION BY LIST (run);
ALTER TABLE run_segment ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE run_segment_small PARTITION OF run_segment DEFAULT;

-- `subject_run` of 001 is taken over row by row when the store is next opened.

ALTER TABLE erasure
    ADD COLUMN keys bytea NOT NULL DEFAULT '',   -- keyed hashes of keys, as `subjects`
    ADD COLUMN proofs bytea NOT NULL DEFAULT '', -- of both, storage/key_names.h
    ADD COLUMN hashes bytea NOT NULL DEFAULT ''; -- where the ids stand in the runs, until they are out
