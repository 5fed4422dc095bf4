-- Labels that are vectors: the numbers of a chunk's rows end to end (storage/label_values.h).

ALTER TABLE chunk ADD COLUMN label_values bytea NOT NULL DEFAULT '';
ALTER TABLE chunk ALTER COLUMN label_values SET STORAGE EXTERNAL;

-- What the view has to know; NULL until the store is next opened.
ALTER TABLE dataset
    ADD COLUMN label_kind bigint,  -- weir_label_kind
    ADD COLUMN label_width bigint, -- numbers of a vector
    ADD COLUMN value_bytes bigint; -- of each: 4 or 8

-- The number that these bits are: an IEEE 754 double, or a single in the lower half. Powers of two are taken in
-- halves, so that none of them is too small.
CREATE FUNCTION real_of(bits bigint, bytes bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN sign THEN -1 ELSE 1 END
           * (mantissa + CASE WHEN exponent > 0 THEN 1::bigint << digits ELSE 0 END)
           * power(2::double precision, (greatest(exponent, 1) - bias) / 2)
           * power(2::double precision,
                   greatest(exponent, 1) - bias - (greatest(exponent, 1) - bias) / 2)
    FROM (SELECT (bits >> (8 * bytes - 1)::int) & 1 = 1 AS sign,
                 ((bits >> digits) & ((1 << exponents) - 1))::int AS exponent,
                 (bits & ((1::bigint << digits) - 1))::double precision AS mantissa,
                 digits,
                 (1 << (exponents - 1)) - 1 + digits AS bias
          FROM (SELECT CASE bytes WHEN 8 THEN 52 ELSE 23 END AS digits,
                       CASE bytes WHEN 8 THEN 11 ELSE 8 END AS exponents) AS format) AS parts
$$;

CREATE FUNCTION unpack_values(packed bytea, width bigint, bytes bigint) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    plain bytea := packed || ''::bytea;
    place int := 0;
    bits bigint;
    numbers double precision[];
BEGIN
    WHILE width > 0 AND place < length(plain) LOOP
        FOR i IN 1..width LOOP
            bits := 0;
            FOR b IN REVERSE bytes - 1..0 LOOP
                bits := (bits << 8) | get_byte(plain, (place + b)::int);
            END LOOP;
            numbers[i] := real_of(bits, bytes);
            place := place + bytes;
        END LOOP;
        RETURN NEXT to_jsonb(numbers);
    END LOOP;
END $$;

-- A label is shown as what it is: a number, the name of its class, an array, or NULL.
DROP VIEW sample;
CREATE VIEW sample AS
SELECT (c.dataset << 44) | (c.block << 16) | (c.first_row + s.n - 1) AS id,
       d.name AS dataset,
       s.time AS time_us,
       CASE d.label_kind
            WHEN 0 THEN NULL
            WHEN 2 THEN to_jsonb(real_of(s.label, 8))
            WHEN 3 THEN to_jsonb(k.name)
            WHEN 4 THEN s.numbers
            ELSE to_jsonb(s.label) END AS label,
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
                              unpack(c.lengths, c.count),
                              unpack_values(c.label_values, d.label_width, d.value_bytes))
           WITH ORDINALITY AS s(time, label, file, place, length, numbers, n)
LEFT JOIN class k ON d.label_kind = 3 AND k.dataset = c.dataset AND k.number = s.label;
