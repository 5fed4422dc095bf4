-- What was measured of the operators of a pipeline file, and the order chosen by it. Numbers are packed as the
-- dispatcher has them: they are measured anew where they do not fit.
CREATE TABLE plan (
    key     bytea  PRIMARY KEY, -- digest of the operators and of the form of the records
    state   bigint NOT NULL,
    changes bigint NOT NULL,
    running bytea  NOT NULL,    -- places, as written, in the order in which they run
    choice  bytea  NOT NULL,
    costs   bytea  NOT NULL,    -- since the order changed …
    before  bytea  NOT NULL,    -- … and before
    used    timestamptz NOT NULL DEFAULT now()
);
