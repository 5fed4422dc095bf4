-- How long the selector has run, in microseconds; it began at the time of this row. Sets and scores that nobody uses are
-- kept by it, which no wall clock changes.
CREATE TABLE lived (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    us  bigint  NOT NULL
);
INSERT INTO lived (us) VALUES ((extract(epoch FROM now()) * 1000000)::bigint);
CREATE FUNCTION lived_us() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT us FROM selector.lived';
ALTER TABLE interval_set ADD COLUMN used_us bigint NOT NULL DEFAULT lived_us();
UPDATE interval_set SET used_us = (extract(epoch FROM sealed_at) * 1000000)::bigint;
ALTER TABLE score_file ADD COLUMN taken_us bigint NOT NULL DEFAULT lived_us();
UPDATE score_file SET taken_us = (extract(epoch FROM taken_at) * 1000000)::bigint;
