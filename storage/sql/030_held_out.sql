-- Rows that datasets[].holdout keeps from training by subject: one bit a row (storage/chunks/held_out.h).

CREATE TABLE held_out (
    dataset bigint NOT NULL,
    block bigint NOT NULL,
    rows bytea NOT NULL,
    PRIMARY KEY (dataset, block)
);
