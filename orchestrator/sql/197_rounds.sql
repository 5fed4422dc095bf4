-- Rounds of a training whose set is chosen anew every so many epochs, from 0. `model` is empty until the round is trained; that of
-- the last one is its trigger's. A round whose model an erasure has taken away is trained again, as another attempt.
CREATE TABLE trigger_round (
    pipeline   bigint  NOT NULL,
    trigger    bigint  NOT NULL,
    round      bigint  NOT NULL,
    attempt    bigint  NOT NULL DEFAULT 1,
    set_digest text    NOT NULL,
    scored_by  text    NOT NULL,
    epochs     bigint  NOT NULL,
    is_last    boolean NOT NULL,
    model      text    NOT NULL DEFAULT '',
    PRIMARY KEY (pipeline, trigger, round),
    FOREIGN KEY (pipeline, trigger) REFERENCES trigger ON DELETE CASCADE
);

-- Of the training that a run is a round of: its epochs before the run, and in all; 0: the run is all of it.
ALTER TABLE run
    ADD COLUMN epochs_before bigint NOT NULL DEFAULT 0,
    ADD COLUMN epochs_in_all bigint NOT NULL DEFAULT 0;
