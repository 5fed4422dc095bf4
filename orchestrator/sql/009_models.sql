-- How models are stored, and which of them is or was the active one.
ALTER TABLE model
    ADD COLUMN base         text    NOT NULL DEFAULT '', -- the model its file is the difference from; '': stored whole
    ADD COLUMN deltas       integer NOT NULL DEFAULT 0,  -- from its file to one that is whole
    ADD COLUMN stored_bytes bigint  NOT NULL DEFAULT 0;  -- its file takes
UPDATE model SET stored_bytes = bytes;
CREATE INDEX model_by_base ON model (base) WHERE base <> '';

-- Each change of a pipeline's active model, and each refusal of one.
CREATE TABLE promotion (
    number   bigint  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    pipeline bigint  NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    model    text    NOT NULL,
    previous text    NOT NULL DEFAULT '', -- the active one until then
    promoted boolean NOT NULL,
    reason   text    NOT NULL,
    at_us    bigint  NOT NULL
);
CREATE INDEX promotion_by_pipeline ON promotion (pipeline, number);

DROP VIEW models;
CREATE VIEW models AS
    SELECT m.id, p.name AS pipeline, m.trigger, m.parent, m.state, m.checksum, m.bytes, m.base, m.stored_bytes,
           m.id = p.active_model AS active
    FROM model m JOIN pipeline p ON p.id = m.pipeline ORDER BY p.id, m.trigger, m.created_us;
