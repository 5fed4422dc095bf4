-- Where samples are (C1 to C4). Payload and subjects never come here: positions, times, labels
-- and keyed hashes do.

CREATE TABLE dataset (
    number bigint PRIMARY KEY,
    name text NOT NULL UNIQUE,
    declaration text NOT NULL, -- effective values: equal texts are the same dataset
    root text NOT NULL,        -- the source, absolute
    file text NOT NULL,        -- the pipeline file that declared it
    config bytea NOT NULL,
    scanned boolean NOT NULL DEFAULT false,
    next_row bigint NOT NULL DEFAULT 0, -- block << 16 | row that the next sample gets
    sequence bigint NOT NULL DEFAULT 0, -- newest change
    feed_floor bigint NOT NULL DEFAULT 0, -- added rows up to here are told from `chunk` again
    ingested bigint NOT NULL DEFAULT 0,
    live bigint NOT NULL DEFAULT 0,
    erased bigint NOT NULL DEFAULT 0,
    removed bigint NOT NULL DEFAULT 0,
    replaced bigint NOT NULL DEFAULT 0,
    quarantined bigint NOT NULL DEFAULT 0,
    duplicate bigint NOT NULL DEFAULT 0,
    blocked bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    CHECK (ingested = live + erased + removed + replaced)
);

CREATE TABLE class ( -- names of a label in order of first appearance
    dataset bigint NOT NULL,
    number bigint NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (dataset, number)
);

-- Samples as packed columns (storage/column.h). A partition holds 64 blocks of one dataset.
CREATE TABLE chunk (
    dataset bigint NOT NULL,
    block bigint NOT NULL,
    first_row bigint NOT NULL,
    count bigint NOT NULL,
    sequence bigint NOT NULL, -- the change that added it
    file_group bigint NOT NULL,
    time_min bigint NOT NULL,
    time_max bigint NOT NULL,
    times bytea NOT NULL,
    labels bytea NOT NULL,
    files bytea NOT NULL, -- index into the file group
    offsets bytea NOT NULL,
    lengths bytea NOT NULL,
    PRIMARY KEY (dataset, block, first_row)
) PARTITION BY RANGE (dataset, block);
-- Packed already: compressing them once more costs more than all the rest of a commit.
ALTER TABLE chunk
    ALTER COLUMN times SET STORAGE EXTERNAL,
    ALTER COLUMN labels SET STORAGE EXTERNAL,
    ALTER COLUMN files SET STORAGE EXTERNAL,
    ALTER COLUMN offsets SET STORAGE EXTERNAL,
    ALTER COLUMN lengths SET STORAGE EXTERNAL;
CREATE INDEX chunk_sequence ON chunk (dataset, sequence);
CREATE INDEX chunk_file_group ON chunk (dataset, file_group);

CREATE TABLE file_group ( -- storage/file_group.h
    dataset bigint NOT NULL,
    number bigint NOT NULL,
    count bigint NOT NULL,
    entries bytea NOT NULL,
    PRIMARY KEY (dataset, number)
);

CREATE TABLE dead ( -- one bit a row of a block
    dataset bigint NOT NULL,
    block bigint NOT NULL,
    erased bytea NOT NULL,
    removed bytea NOT NULL,
    replaced bytea NOT NULL,
    PRIMARY KEY (dataset, block)
);

CREATE TABLE feed (
    dataset bigint NOT NULL,
    sequence bigint NOT NULL,
    kind bigint NOT NULL, -- weir_change_kind
    first bigint NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (dataset, sequence)
);

CREATE TABLE consumer ( -- of the feed, registered by its first read
    dataset bigint NOT NULL,
    name text NOT NULL,
    passed bigint NOT NULL,
    PRIMARY KEY (dataset, name)
);

CREATE TABLE subject_run ( -- (keyed hash u64, id u64) sorted
    dataset bigint NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entries bytea NOT NULL
);
CREATE INDEX subject_run_dataset ON subject_run (dataset);

CREATE TABLE quarantine (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dataset bigint NOT NULL,
    path bytea NOT NULL,
    place text NOT NULL,
    reason text NOT NULL,
    count bigint NOT NULL, -- refused files or records that this row stands for
    is_tail boolean NOT NULL, -- withdrawn when the file goes on
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX quarantine_path ON quarantine (dataset, path);

CREATE TABLE blocked ( -- keyed hashes of what was erased and must not come in again
    dataset bigint NOT NULL,
    hash bigint NOT NULL,
    met boolean NOT NULL DEFAULT false, -- counted in dataset.blocked
    PRIMARY KEY (dataset, hash)
);

CREATE TABLE erasure (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid text NOT NULL UNIQUE,
    dataset bigint NOT NULL, -- 0: all
    reference text NOT NULL,
    state text NOT NULL DEFAULT 'accepted',
    subjects bytea NOT NULL, -- keyed hashes
    wanted bytea NOT NULL,   -- ids asked for
    ids bytea NOT NULL DEFAULT '', -- ids tombstoned
    probes bytea NOT NULL DEFAULT '', -- keyed fingerprints of erased content
    epoch bigint NOT NULL DEFAULT 0,
    accepted_us bigint NOT NULL,
    in_force_us bigint NOT NULL DEFAULT 0,
    scrubbed_us bigint NOT NULL DEFAULT 0,
    verified_us bigint NOT NULL DEFAULT 0,
    files_scrubbed bigint NOT NULL DEFAULT 0,
    bytes_scrubbed bigint NOT NULL DEFAULT 0,
    bytes_searched bigint NOT NULL DEFAULT 0,
    found bigint NOT NULL DEFAULT 0,
    remarks text NOT NULL DEFAULT '', -- one a line
    holders_answered bigint NOT NULL DEFAULT 0,
    holders_expired bigint NOT NULL DEFAULT 0
);

CREATE TABLE epoch ( -- the ids that each erasure epoch erased
    number bigint PRIMARY KEY,
    erasure bigint NOT NULL,
    ids bytea NOT NULL
);

-- For people with psql. A column is taken out of TOAST once per chunk, not once per sample.
CREATE FUNCTION unpack(packed bytea, count bigint) RETURNS SETOF bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    plain bytea := packed || ''::bytea;
    width int := get_byte(plain, 0);
    base bigint := 0;
    step bigint := 0;
    value bigint;
    place int := 9;
BEGIN
    FOR i IN REVERSE 8..1 LOOP
        base := (base << 8) | get_byte(plain, i);
    END LOOP;
    IF width = 255 THEN
        FOR i IN REVERSE 16..9 LOOP
            step := (step << 8) | get_byte(plain, i);
        END LOOP;
    END IF;
    FOR i IN 0..count - 1 LOOP
        value := 0;
        IF width = 255 THEN
            value := i * step;
        ELSIF width > 0 THEN
            FOR b IN REVERSE width - 1..0 LOOP
                value := (value << 8) | get_byte(plain, place + b);
            END LOOP;
            place := place + width;
        END IF;
        RETURN NEXT base + value;
    END LOOP;
END $$;

CREATE FUNCTION has_bit(bits bytea, place bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(place < 8 * length(bits) AND get_bit(bits, place) = 1, false)
$$;

CREATE VIEW sample AS
SELECT (c.dataset << 44) | (c.block << 16) | (c.first_row + s.n - 1) AS id,
       d.name AS dataset,
       s.time AS time_us,
       s.label,
       CASE WHEN has_bit(x.erased, c.first_row + s.n - 1) THEN 'erased'
            WHEN has_bit(x.replaced, c.first_row + s.n - 1) THEN 'replaced'
            WHEN has_bit(x.removed, c.first_row + s.n - 1) THEN 'removed'
            ELSE 'live' END AS state,
       c.file_group,
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
