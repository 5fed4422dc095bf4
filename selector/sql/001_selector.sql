-- What the selector must know after a crash. Candidates are kept as ranges of sample ids; labels
-- and times are storage's.

CREATE TABLE pipeline (
    name   text PRIMARY KEY,
    file   text NOT NULL,
    config bytea NOT NULL,
    replay boolean NOT NULL -- order is (event time, id), not change sequence
);

-- How far the change feed of each dataset has been taken in. Moves in the transaction that stores
-- the ranges it led to.
CREATE TABLE feed_cursor (
    pipeline text NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    dataset  bigint NOT NULL,
    ordinal  bigint NOT NULL, -- place in the pipeline file
    sequence bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (pipeline, dataset)
);

CREATE TABLE pool_range (
    pipeline text NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    dataset  bigint NOT NULL,
    sequence bigint NOT NULL,
    first_id bigint NOT NULL,
    count    bigint NOT NULL,
    kind     bigint NOT NULL, -- 1 added, 2 removed, 3 replaced, 4 erased
    PRIMARY KEY (pipeline, dataset, sequence, first_id)
);

-- One row per trigger that was answered; an empty digest says that nothing was selected, and reason
-- why. The file is sets/DIGEST.set in the data directory.
CREATE TABLE selection (
    pipeline   text NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    trigger    bigint NOT NULL,
    positions  bigint[] NOT NULL, -- change sequence per dataset, in the order of the file
    until_time bigint NOT NULL,   -- replay: the trigger's last sample
    until_id   bigint NOT NULL,
    digest     text NOT NULL,
    samples    bigint NOT NULL,
    candidates bigint NOT NULL,
    policy     text NOT NULL,
    seed       bigint NOT NULL,
    reason     text NOT NULL,
    sealed_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pipeline, trigger)
);

-- The same for time intervals that evaluations asked for.
CREATE TABLE interval_set (
    pipeline   text NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    from_time  bigint NOT NULL,
    to_time    bigint NOT NULL,
    positions  bigint[] NOT NULL,
    digest     text NOT NULL,
    samples    bigint NOT NULL,
    reason     text NOT NULL,
    sealed_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pipeline, from_time, to_time, positions)
);
