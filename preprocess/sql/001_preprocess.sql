-- Jobs as the dispatcher must find them after a crash, and what they have cost.

CREATE TABLE incarnation (number bigint NOT NULL);
INSERT INTO incarnation VALUES (0);

CREATE TABLE job (
    job        bigint PRIMARY KEY,
    file       text NOT NULL,
    config     bytea NOT NULL,
    set_path   text NOT NULL,
    set_digest text NOT NULL,
    epochs     bigint NOT NULL,
    seed       bigint NOT NULL,
    mode       text NOT NULL,
    fitted     bytea NOT NULL DEFAULT '', -- given with the job, or fitted on its set
    attempt    bigint NOT NULL DEFAULT 0,
    session    bigint NOT NULL DEFAULT 0,
    committed  bytea NOT NULL DEFAULT '', -- core/wire/position.h
    consumed   bytea NOT NULL DEFAULT '', -- newest report: a tally
    replayed   bigint NOT NULL DEFAULT 0,
    final      boolean NOT NULL DEFAULT false,
    expected   bigint,                    -- fingerprint of the whole delivery, once it was final
    closed     boolean NOT NULL DEFAULT false,
    opened_at  timestamptz NOT NULL DEFAULT now()
);

-- Cumulative per worker session: reported again and again, so that a report may be lost.
CREATE TABLE cost (
    job            bigint NOT NULL REFERENCES job,
    session        bigint NOT NULL,
    cpu_ns         bigint NOT NULL,
    bytes_read     bigint NOT NULL,
    bytes_sent     bigint NOT NULL,
    operator_ns    bytea NOT NULL, -- i64 per operator
    operator_bytes bytea NOT NULL, -- u64 per operator
    PRIMARY KEY (job, session)
);

CREATE VIEW jobs AS
    SELECT job, mode, set_digest, epochs, seed, attempt, replayed, final, closed, opened_at,
           sum(cpu_ns) / 1e9 AS worker_cpu_s, sum(bytes_read) AS bytes_read,
           sum(bytes_sent) AS bytes_sent
    FROM job LEFT JOIN cost USING (job) GROUP BY job.job;
