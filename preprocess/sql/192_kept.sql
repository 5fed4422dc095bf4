-- Use of the rows that are kept of samples (DESIGN §16, C19), per job and worker session like all costs.
ALTER TABLE cost ADD COLUMN kept_key bigint NOT NULL DEFAULT 0; -- what made the rows; 0: none are kept
ALTER TABLE cost ADD COLUMN kept_operators text NOT NULL DEFAULT '';
ALTER TABLE cost ADD COLUMN kept_hits bigint NOT NULL DEFAULT 0;
ALTER TABLE cost ADD COLUMN kept_misses bigint NOT NULL DEFAULT 0;
ALTER TABLE cost ADD COLUMN kept_damaged bigint NOT NULL DEFAULT 0;
ALTER TABLE cost ADD COLUMN kept_made_ns bigint NOT NULL DEFAULT 0; -- of the operators before the cut, for the misses
ALTER TABLE cost ADD COLUMN kept_read_ns bigint NOT NULL DEFAULT 0; -- of the hits

CREATE VIEW kept AS
    SELECT kept_key AS key, min(kept_operators) AS operators, sum(kept_hits)::bigint AS hits,
           sum(kept_misses)::bigint AS misses, sum(kept_damaged)::bigint AS damaged,
           sum(kept_made_ns)::bigint AS made_ns, sum(kept_read_ns)::bigint AS read_ns,
           min(opened_at) AS since
    FROM cost JOIN job USING (job) WHERE kept_key <> 0 GROUP BY kept_key;
