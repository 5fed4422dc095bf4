-- Objects of buckets as they were mirrored (storage/s3_mirror.h).
CREATE TABLE object (
    dataset bigint NOT NULL,
    key bytea NOT NULL,
    etag text NOT NULL,
    size bigint NOT NULL,
    modified_us bigint NOT NULL,
    PRIMARY KEY (dataset, key)
);
