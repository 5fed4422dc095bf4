-- Files are numbered in their dataset, so that a chunk can hold samples of many files: a file group is
-- a range of these numbers, and the column `files` of a chunk holds them.

ALTER TABLE file_group ADD COLUMN first_file bigint; -- number of its first file

UPDATE file_group g SET first_file = numbered.first_file
FROM (SELECT dataset, number,
             (sum(count) OVER (PARTITION BY dataset ORDER BY number) - count)::bigint AS first_file
      FROM file_group) numbered
WHERE numbered.dataset = g.dataset AND numbered.number = g.number;

ALTER TABLE file_group ALTER COLUMN first_file SET NOT NULL;

-- The base of a packed column is bytes 1 to 8, little-endian, and follows the width.
CREATE FUNCTION move_base(packed bytea, distance bigint) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    base bigint := distance;
BEGIN
    FOR i IN 0..7 LOOP
        base := base + (get_byte(packed, i + 1)::bigint << (8 * i));
    END LOOP;
    FOR i IN 0..7 LOOP
        packed := set_byte(packed, i + 1, ((base >> (8 * i)) & 255)::int);
    END LOOP;
    RETURN packed;
END $$;

UPDATE chunk c SET files = move_base(c.files, g.first_file)
FROM file_group g
WHERE g.dataset = c.dataset AND g.number = c.file_group AND g.first_file > 0;

DROP FUNCTION move_base;
DROP VIEW sample;
DROP INDEX chunk_file_group;
ALTER TABLE chunk DROP COLUMN file_group;

-- The changes that added the rows of a merged chunk (storage/added_runs.h); `sequence` is the newest.
ALTER TABLE chunk ADD COLUMN runs bytea NOT NULL DEFAULT '';
ALTER TABLE chunk ALTER COLUMN runs SET STORAGE EXTERNAL;

CREATE VIEW sample AS
SELECT (c.dataset << 44) | (c.block << 16) | (c.first_row + s.n - 1) AS id,
       d.name AS dataset,
       s.time AS time_us,
       s.label,
       CASE WHEN has_bit(x.erased, c.first_row + s.n - 1) THEN 'erased'
            WHEN has_bit(x.replaced, c.first_row + s.n - 1) THEN 'replaced'
            WHEN has_bit(x.removed, c.first_row + s.n - 1) THEN 'removed'
            ELSE 'live' END AS state,
       s.file,
       s.place AS "offset",
       s.length
FROM chunk c
JOIN dataset d ON d.number = c.dataset
LEFT JOIN dead x ON x.dataset = c.dataset AND x.block = c.block
CROSS JOIN LATERAL ROWS FROM (unpack(c.times, c.count), unpack(c.labels, c.count),
                              unpack(c.files, c.count), unpack(c.offsets, c.count),
                              unpack(c.lengths, c.count))
           WITH ORDINALITY AS s(time, label, file, place, length, n);
