-- What erasures still have to do in buckets (storage/objects/s3_owed.h): one row an object, gone once it is done.
CREATE TABLE owed (
    erasure bigint NOT NULL,
    dataset bigint NOT NULL,
    key bytea NOT NULL,
    is_rewrite boolean NOT NULL, -- written anew without the erased; else deleted
    was_live boolean NOT NULL,   -- what was erased is what was mirrored last
    etag text NOT NULL,          -- of what was mirrored, or of what was written anew; '': not known
    is_done boolean NOT NULL DEFAULT false,
    tries bigint NOT NULL DEFAULT 0,
    next_us bigint NOT NULL,
    problem text NOT NULL DEFAULT '',
    PRIMARY KEY (erasure, dataset, key)
);
CREATE INDEX owed_next ON owed (next_us) WHERE NOT is_done;

ALTER TABLE erasure ADD COLUMN objects_cleaned bigint NOT NULL DEFAULT 0;
