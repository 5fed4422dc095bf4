-- Files that a pipeline had before others were applied to it: models of triggers up to `until_trigger`, and after those of the
-- edition before, were made with this one and are used with it.
CREATE TABLE pipeline_edition (
    pipeline      bigint NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    until_trigger bigint NOT NULL,
    file          text   NOT NULL,
    config        bytea  NOT NULL,
    PRIMARY KEY (pipeline, until_trigger)
);
