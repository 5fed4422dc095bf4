-- Scored selection. `scored_by` is the model whose scores decided what a trigger's set holds; empty: none.
ALTER TABLE trigger ADD COLUMN scored_by text NOT NULL DEFAULT '';

-- What the selector wants to be scored before it seals the set of a trigger. A trigger keeps to its first model as
-- long as that is there; `round` counts how often the selector asked.
CREATE TABLE trigger_score (
    pipeline   bigint NOT NULL,
    trigger    bigint NOT NULL,
    round      bigint NOT NULL DEFAULT 1,
    model      text   NOT NULL,
    mode       text   NOT NULL,
    set_digest text   NOT NULL,
    set_path   text   NOT NULL,
    PRIMARY KEY (pipeline, trigger),
    FOREIGN KEY (pipeline, trigger) REFERENCES trigger ON DELETE CASCADE
);

ALTER TABLE erasure ADD COLUMN scores_purged bigint NOT NULL DEFAULT 0;
