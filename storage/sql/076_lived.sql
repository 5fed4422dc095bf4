-- How long storage has run, in microseconds; it began at the time of this row. Consumers of the feed and answers to pushes
-- are kept by it, which no wall clock changes.
CREATE TABLE lived (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    us  bigint  NOT NULL
);
INSERT INTO lived (us) VALUES ((extract(epoch FROM now()) * 1000000)::bigint);
CREATE FUNCTION lived_us() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT us FROM storage.lived';
ALTER TABLE pushed ADD COLUMN lived_us bigint NOT NULL DEFAULT lived_us();
