-- What models have said of samples. The scores of a row are scores/NAME.outputs in the data directory; samples that
-- were asked for and cannot be scored are scores/NAME.unscored.
CREATE TABLE score_file (
    number   bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    pipeline text   NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    mode     text   NOT NULL, -- score, gradient, embed, predict
    model    text   NOT NULL,
    digest   text   NOT NULL, -- of the set that was scored
    name     text   NOT NULL,
    samples  bigint NOT NULL,
    unscored bigint NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (pipeline, mode, model, digest)
);

ALTER TABLE selection ADD COLUMN scored_by text NOT NULL DEFAULT '';
