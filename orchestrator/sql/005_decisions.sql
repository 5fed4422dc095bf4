-- What trigger policies decide at their checks, and why: the newest ones of each pipeline, and all that fired a trigger.
-- A check is one transaction with the cursor it was made at and the policy's state behind it.

ALTER TABLE pipeline ADD COLUMN checks bigint NOT NULL DEFAULT 0; -- made so far

CREATE TABLE decision (
    pipeline    bigint NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    number      bigint NOT NULL,
    trigger     bigint NOT NULL, -- that ended there; 0: none
    at_time     bigint NOT NULL, -- of the newest sample
    samples_new bigint NOT NULL, -- since the trigger before
    json        text   NOT NULL,
    PRIMARY KEY (pipeline, number)
);
CREATE INDEX decision_by_trigger ON decision (pipeline, trigger) WHERE trigger > 0;

CREATE VIEW decisions AS
    SELECT p.name AS pipeline, d.number, d.trigger, d.samples_new, d.json
    FROM decision d JOIN pipeline p ON p.id = d.pipeline ORDER BY p.id, d.number;
