-- What was answered to pushed batches: one that comes again gets the same answer (storage/push.h).
CREATE TABLE pushed (
    dataset bigint NOT NULL,
    client text NOT NULL,
    batch bigint NOT NULL,
    digest bigint NOT NULL, -- of the payload: the number stands for this one alone
    mark bytea NOT NULL,    -- the client's own
    first bigint NOT NULL,
    samples bigint NOT NULL,
    refused bigint NOT NULL,
    left_out bigint NOT NULL,
    reasons text NOT NULL, -- "record what was found, …", one a line
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dataset, client, batch)
);
