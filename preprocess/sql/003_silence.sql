-- A job that nobody asks for any more is closed: how long that has been so, while a dispatcher ran.

ALTER TABLE job ADD COLUMN silent_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN abandoned boolean NOT NULL DEFAULT false; -- closed for that: may be opened again

CREATE OR REPLACE VIEW jobs AS
    SELECT job, mode, set_digest, epochs, seed, attempt, replayed, final, closed, opened_at,
           sum(cpu_ns) / 1e9 AS worker_cpu_s, sum(bytes_read) AS bytes_read,
           sum(bytes_sent) AS bytes_sent, abandoned
    FROM job LEFT JOIN cost USING (job) GROUP BY job.job;
