-- A job has one consumer per rank; what was known of the only one moves into its row.

ALTER TABLE job ADD COLUMN ranks bigint NOT NULL DEFAULT 1;
ALTER TABLE job ADD COLUMN turn bigint NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN duplicated bigint NOT NULL DEFAULT 0;

CREATE TABLE rank (
    job       bigint NOT NULL REFERENCES job,
    rank      bigint NOT NULL,
    session   bigint NOT NULL,  -- 0: nobody has come to this attempt yet
    begun     bytea NOT NULL,   -- core/wire/position.h, as are the following
    committed bytea NOT NULL,   -- its part of the newest state that all ranks have committed
    pending   bytea NOT NULL,   -- newest state it has committed
    reported  bytea NOT NULL,   -- newest report
    final     boolean NOT NULL, -- pending is the last
    PRIMARY KEY (job, rank)
);

-- A tally is the beginning of a position: with no batch in it, 12 bytes of zeros follow.
INSERT INTO rank
    SELECT job, 0, session, committed, committed, committed,
           CASE WHEN consumed = '' THEN consumed ELSE consumed || '\x000000000000000000000000' END,
           final
    FROM job WHERE attempt > 0;

UPDATE job SET turn = attempt;
ALTER TABLE job DROP COLUMN session, DROP COLUMN committed, DROP COLUMN consumed;
