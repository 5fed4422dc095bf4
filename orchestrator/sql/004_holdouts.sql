-- Models that learn from held-out samples, so that a set can be chosen by what they say of the others. They are in the
-- table of models, in state 'holdout'. `model` is empty until there is one, and stays empty when nothing of the set could be
-- delivered; `round` counts how often the selector asked.
CREATE TABLE trigger_holdout (
    pipeline   bigint  NOT NULL,
    trigger    bigint  NOT NULL,
    half       bigint  NOT NULL,
    round      bigint  NOT NULL DEFAULT 1,
    set_digest text    NOT NULL,
    set_path   text    NOT NULL,
    model      text    NOT NULL DEFAULT '',
    settled    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (pipeline, trigger, half),
    FOREIGN KEY (pipeline, trigger) REFERENCES trigger ON DELETE CASCADE
);

ALTER TABLE model ADD COLUMN role text NOT NULL DEFAULT ''; -- holdout; '': what a trigger trained

-- Whose scores the trigger keeps to, while a model of the holdout scores.
ALTER TABLE trigger_score ADD COLUMN keeps_to text NOT NULL DEFAULT '';

-- Those whose losses a set was chosen by, beside the model that scored; separated by spaces.
ALTER TABLE trigger ADD COLUMN held_out_by text NOT NULL DEFAULT '';
