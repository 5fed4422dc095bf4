-- An erasure is worked on page by page: what is in memory or in one transaction is never more of it than a page.

CREATE TABLE erasure_ids ( -- the samples that are tombstoned
    erasure bigint NOT NULL,
    page bigint NOT NULL,  -- of the erasure, from 1
    epoch bigint NOT NULL, -- that holders were told them under; erasures that are worked on together share epochs
    first bigint NOT NULL, -- samples in the pages before it
    ids bytea NOT NULL,    -- ascending
    step bigint NOT NULL DEFAULT 0, -- storage/erasure/erase_page.h
    files bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (erasure, page)
);
ALTER TABLE erasure_ids ALTER COLUMN ids SET STORAGE EXTERNAL;
CREATE INDEX erasure_ids_epoch ON erasure_ids (epoch);
CREATE INDEX erasure_ids_first ON erasure_ids (erasure, first);

CREATE TABLE erasure_prints ( -- keyed fingerprints of a page's content (storage/erasure/fingerprint.h), until verified
    erasure bigint NOT NULL,
    page bigint NOT NULL,
    prints bytea NOT NULL,
    PRIMARY KEY (erasure, page)
);
ALTER TABLE erasure_prints ALTER COLUMN prints SET STORAGE EXTERNAL;

CREATE TABLE erasure_unread ( -- samples that a file stands in the way of
    id bigint PRIMARY KEY,
    erasure bigint NOT NULL
);

ALTER TABLE erasure
    ADD COLUMN samples bigint NOT NULL DEFAULT 0,
    ADD COLUMN pages bigint NOT NULL DEFAULT 0;
CREATE INDEX erasure_open ON erasure (number) WHERE state <> 'verified';

-- What an older Weir had under way goes on where it was.
CREATE FUNCTION word_at(bytes bytea, place bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT sum(get_byte(bytes, (place + i)::int)::bigint << (8 * i))::bigint FROM generate_series(0, 6) AS i
$$;
INSERT INTO erasure_ids (erasure, page, epoch, first, ids, step)
SELECT p.erasure, row_number() OVER w, p.number,
       (sum(octet_length(p.ids) / 8) OVER w)::bigint - octet_length(p.ids) / 8, p.ids,
       CASE WHEN e.state IN ('scrubbed', 'verified') THEN 3 WHEN e.probes <> '' THEN 1 ELSE 0 END
FROM epoch p JOIN erasure e ON e.number = p.erasure
WINDOW w AS (PARTITION BY p.erasure ORDER BY p.number);
INSERT INTO erasure_prints (erasure, page, prints)
SELECT number, 1, substr(probes, 1, size) FROM (
    SELECT number, probes,
           (16 + 8 * (word_at(probes, 0) + word_at(probes, 8 + 8 * word_at(probes, 0))))::int AS size
    FROM erasure WHERE probes <> '' AND state <> 'verified') AS packed;
INSERT INTO erasure_unread (erasure, id)
SELECT number, word_at(probes, at) + (get_byte(probes, at + 7)::bigint << 56) FROM (
    SELECT number, probes,
           generate_series(
               (16 + 8 * (word_at(probes, 0) + word_at(probes, 8 + 8 * word_at(probes, 0))))::int,
               octet_length(probes) - 8, 8) AS at
    FROM erasure WHERE probes <> '' AND state <> 'verified') AS packed
ON CONFLICT DO NOTHING;
UPDATE erasure SET samples = octet_length(ids) / 8,
                   pages = (SELECT count(*) FROM erasure_ids i WHERE i.erasure = number);
DROP FUNCTION word_at;
DROP TABLE epoch;
ALTER TABLE erasure DROP COLUMN ids, DROP COLUMN probes, DROP COLUMN hashes;
