-- How a mixture divided the set of a trigger. The shares of a mixture by loss go on from those of the trigger before.
CREATE TABLE selection_component (
    pipeline   text   NOT NULL,
    trigger    bigint NOT NULL,
    ordinal    bigint NOT NULL, -- in the order of selection.shares
    name       text   NOT NULL,
    share      double precision NOT NULL,
    samples    bigint NOT NULL,
    candidates bigint NOT NULL,
    why        text   NOT NULL,
    PRIMARY KEY (pipeline, trigger, ordinal),
    FOREIGN KEY (pipeline, trigger) REFERENCES selection ON DELETE CASCADE
);
