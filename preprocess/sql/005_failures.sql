-- The first samples of a job that failed, and why: what workers say again and again, kept for when they and the dispatcher
-- have died.
CREATE TABLE failure (
    job    bigint NOT NULL REFERENCES job,
    sample bigint NOT NULL, -- its id, as a signed number
    reason text NOT NULL,
    PRIMARY KEY (job, sample)
);
