-- Folders outside of the data directory that hold what the operators made of the samples of a set. What such a set held is in
-- set_block, under its digest.
CREATE TABLE export (
    number      bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    pipeline    bigint NOT NULL,
    trigger     bigint NOT NULL,
    set_digest  text   NOT NULL,
    directory   text   NOT NULL,            -- absolute
    format      text   NOT NULL,
    shard_bytes bigint NOT NULL,
    state       text   NOT NULL DEFAULT 'open', -- open, done, failed
    rows        bigint NOT NULL DEFAULT 0,
    clean_epoch bigint NOT NULL DEFAULT 0,  -- samples erased up to this epoch were never written to it
    created_us  bigint NOT NULL,
    finished_us bigint
);
