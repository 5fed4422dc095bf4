-- What a Weir that mirrored buckets whole left in Postgres (migrations 001 to 007 and 012): three objects with 27 live samples, a
-- fourth that was removed, one that was written anew. @ENDPOINT@ and @DATA@ stand for where the bucket and the data directory were;
-- the files that it knew are packed by the test, because their inodes are of its disk;
-- the data directory's secret was 9c87db54cea4d447cf15538a0be4f13d4ca1d7836941e37e7df3df5b7c5c8308.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA storage;
CREATE FUNCTION storage.has_bit(bits bytea, place bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT coalesce(place < 8 * length(bits) AND get_bit(bits, place) = 1, false)
$$;
CREATE FUNCTION storage.unpack(packed bytea, count bigint) RETURNS SETOF bigint
    LANGUAGE plpgsql IMMUTABLE
    AS $$
DECLARE
    plain bytea := packed || ''::bytea;
    width int := get_byte(plain, 0);
    words bigint[] := ARRAY[0, 0, 1]; -- base, step, unit
    bits bigint := 8 * width;
    value bigint;
    place bigint := 9;
BEGIN
    FOR w IN 1..CASE width WHEN 254 THEN 3 WHEN 255 THEN 2 ELSE 1 END LOOP
        value := 0;
        FOR b IN REVERSE 8..1 LOOP
            value := (value << 8) | get_byte(plain, 8 * (w - 1) + b);
        END LOOP;
        words[w] := value;
    END LOOP;
    IF width = 254 THEN
        bits := get_byte(plain, 25);
        place := 26;
    ELSIF width = 255 THEN
        bits := 0;
    END IF;
    FOR i IN 0..count - 1 LOOP
        value := 0;
        IF bits >= 8 THEN
            FOR b IN REVERSE bits / 8 - 1..0 LOOP
                value := (value << 8) | get_byte(plain, (place + b)::int);
            END LOOP;
            place := place + bits / 8;
        ELSIF bits > 0 THEN
            value := (get_byte(plain, (place + i * bits / 8)::int) >> (i * bits % 8)::int)
                     & ((1 << bits::int) - 1);
        END IF;
        RETURN NEXT words[1] + i * words[2] + words[3] * value;
    END LOOP;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE storage.blocked (
    dataset bigint NOT NULL,
    hash bigint NOT NULL,
    met boolean DEFAULT false NOT NULL
);
CREATE TABLE storage.chunk (
    dataset bigint NOT NULL,
    block bigint NOT NULL,
    first_row bigint NOT NULL,
    count bigint NOT NULL,
    sequence bigint NOT NULL,
    time_min bigint NOT NULL,
    time_max bigint NOT NULL,
    times bytea NOT NULL,
    labels bytea NOT NULL,
    files bytea NOT NULL,
    offsets bytea NOT NULL,
    lengths bytea NOT NULL,
    runs bytea DEFAULT '\x'::bytea NOT NULL
)
PARTITION BY RANGE (dataset, block);
ALTER TABLE ONLY storage.chunk ALTER COLUMN times SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk ALTER COLUMN labels SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk ALTER COLUMN files SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk ALTER COLUMN offsets SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk ALTER COLUMN lengths SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk ALTER COLUMN runs SET STORAGE EXTERNAL;
CREATE TABLE storage.chunk_1_0 (
    dataset bigint NOT NULL,
    block bigint NOT NULL,
    first_row bigint NOT NULL,
    count bigint NOT NULL,
    sequence bigint NOT NULL,
    time_min bigint NOT NULL,
    time_max bigint NOT NULL,
    times bytea NOT NULL,
    labels bytea NOT NULL,
    files bytea NOT NULL,
    offsets bytea NOT NULL,
    lengths bytea NOT NULL,
    runs bytea DEFAULT '\x'::bytea NOT NULL
);
ALTER TABLE ONLY storage.chunk_1_0 ALTER COLUMN times SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk_1_0 ALTER COLUMN labels SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk_1_0 ALTER COLUMN files SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk_1_0 ALTER COLUMN offsets SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk_1_0 ALTER COLUMN lengths SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.chunk_1_0 ALTER COLUMN runs SET STORAGE EXTERNAL;
CREATE TABLE storage.class (
    dataset bigint NOT NULL,
    number bigint NOT NULL,
    name text NOT NULL
);
CREATE TABLE storage.consumer (
    dataset bigint NOT NULL,
    name text NOT NULL,
    passed bigint NOT NULL,
    snapshot bigint DEFAULT 0 NOT NULL,
    seen_us bigint DEFAULT ((EXTRACT(epoch FROM now()) * (1000000)::numeric))::bigint NOT NULL
);
CREATE TABLE storage.dataset (
    number bigint NOT NULL,
    name text NOT NULL,
    declaration text NOT NULL,
    root text NOT NULL,
    file text NOT NULL,
    config bytea NOT NULL,
    scanned boolean DEFAULT false NOT NULL,
    next_row bigint DEFAULT 0 NOT NULL,
    sequence bigint DEFAULT 0 NOT NULL,
    feed_floor bigint DEFAULT 0 NOT NULL,
    ingested bigint DEFAULT 0 NOT NULL,
    live bigint DEFAULT 0 NOT NULL,
    erased bigint DEFAULT 0 NOT NULL,
    removed bigint DEFAULT 0 NOT NULL,
    replaced bigint DEFAULT 0 NOT NULL,
    quarantined bigint DEFAULT 0 NOT NULL,
    duplicate bigint DEFAULT 0 NOT NULL,
    blocked bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT dataset_check CHECK ((ingested = (((live + erased) + removed) + replaced)))
);
CREATE TABLE storage.dead (
    dataset bigint NOT NULL,
    block bigint NOT NULL,
    erased bytea NOT NULL,
    removed bytea NOT NULL,
    replaced bytea NOT NULL
);
CREATE TABLE storage.epoch (
    number bigint NOT NULL,
    erasure bigint NOT NULL,
    ids bytea NOT NULL
);
CREATE TABLE storage.erasure (
    number bigint NOT NULL,
    uuid text NOT NULL,
    dataset bigint NOT NULL,
    reference text NOT NULL,
    state text DEFAULT 'accepted'::text NOT NULL,
    subjects bytea NOT NULL,
    wanted bytea NOT NULL,
    ids bytea DEFAULT '\x'::bytea NOT NULL,
    probes bytea DEFAULT '\x'::bytea NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    accepted_us bigint NOT NULL,
    in_force_us bigint DEFAULT 0 NOT NULL,
    scrubbed_us bigint DEFAULT 0 NOT NULL,
    verified_us bigint DEFAULT 0 NOT NULL,
    files_scrubbed bigint DEFAULT 0 NOT NULL,
    bytes_scrubbed bigint DEFAULT 0 NOT NULL,
    bytes_searched bigint DEFAULT 0 NOT NULL,
    found bigint DEFAULT 0 NOT NULL,
    remarks text DEFAULT ''::text NOT NULL,
    holders_answered bigint DEFAULT 0 NOT NULL,
    holders_expired bigint DEFAULT 0 NOT NULL,
    keys bytea DEFAULT '\x'::bytea NOT NULL,
    proofs bytea DEFAULT '\x'::bytea NOT NULL,
    hashes bytea DEFAULT '\x'::bytea NOT NULL
);
ALTER TABLE storage.erasure ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME storage.erasure_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE storage.feed (
    dataset bigint NOT NULL,
    sequence bigint NOT NULL,
    kind bigint NOT NULL,
    first bigint NOT NULL,
    count bigint NOT NULL
);
CREATE TABLE storage.file_group (
    dataset bigint NOT NULL,
    number bigint NOT NULL,
    count bigint NOT NULL,
    entries bytea NOT NULL,
    first_file bigint NOT NULL,
    encoding bigint DEFAULT 0 NOT NULL
);
CREATE TABLE storage.migration (
    number bigint NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    checksum text
);
CREATE TABLE storage.object (
    dataset bigint NOT NULL,
    key bytea NOT NULL,
    etag text NOT NULL,
    size bigint NOT NULL,
    modified_us bigint NOT NULL
);
CREATE TABLE storage.pushed (
    dataset bigint NOT NULL,
    client text NOT NULL,
    batch bigint NOT NULL,
    digest bigint NOT NULL,
    mark bytea NOT NULL,
    first bigint NOT NULL,
    samples bigint NOT NULL,
    refused bigint NOT NULL,
    left_out bigint NOT NULL,
    reasons text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE storage.quarantine (
    number bigint NOT NULL,
    dataset bigint NOT NULL,
    path bytea NOT NULL,
    place text NOT NULL,
    reason text NOT NULL,
    count bigint NOT NULL,
    is_tail boolean NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE storage.quarantine ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME storage.quarantine_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE storage.run (
    number bigint NOT NULL,
    dataset bigint NOT NULL,
    kind bigint NOT NULL,
    count bigint NOT NULL,
    is_own boolean NOT NULL,
    is_complete boolean NOT NULL,
    fences bytea NOT NULL,
    filter bytea NOT NULL
);
ALTER TABLE ONLY storage.run ALTER COLUMN fences SET STORAGE EXTERNAL;
ALTER TABLE ONLY storage.run ALTER COLUMN filter SET STORAGE EXTERNAL;
ALTER TABLE storage.run ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME storage.run_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE storage.run_segment (
    run bigint NOT NULL,
    number bigint NOT NULL,
    bytes bytea NOT NULL
)
PARTITION BY LIST (run);
ALTER TABLE ONLY storage.run_segment ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE storage.run_segment_small (
    run bigint NOT NULL,
    number bigint NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY storage.run_segment_small ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE VIEW storage.sample AS
 SELECT (((c.dataset << 44) | (c.block << 16)) | ((c.first_row + s.n) - 1)) AS id,
    d.name AS dataset,
    s."time" AS time_us,
    s.label,
        CASE
            WHEN storage.has_bit(x.erased, ((c.first_row + s.n) - 1)) THEN 'erased'::text
            WHEN storage.has_bit(x.replaced, ((c.first_row + s.n) - 1)) THEN 'replaced'::text
            WHEN storage.has_bit(x.removed, ((c.first_row + s.n) - 1)) THEN 'removed'::text
            ELSE 'live'::text
        END AS state,
    s.file,
    s.place AS "offset",
    s.length
   FROM (((storage.chunk c
     JOIN storage.dataset d ON ((d.number = c.dataset)))
     LEFT JOIN storage.dead x ON (((x.dataset = c.dataset) AND (x.block = c.block))))
     CROSS JOIN LATERAL ROWS FROM(storage.unpack(c.times, c.count), storage.unpack(c.labels, c.count), storage.unpack(c.files, c.count), storage.unpack(c.offsets, c.count), storage.unpack(c.lengths, c.count)) WITH ORDINALITY s("time", label, file, place, length, n));
CREATE TABLE storage.subject_run (
    dataset bigint NOT NULL,
    number bigint NOT NULL,
    entries bytea NOT NULL
);
ALTER TABLE storage.subject_run ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME storage.subject_run_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY storage.chunk ATTACH PARTITION storage.chunk_1_0 FOR VALUES FROM ('1', '0') TO ('1', '64');
ALTER TABLE ONLY storage.run_segment ATTACH PARTITION storage.run_segment_small DEFAULT;
INSERT INTO storage.chunk_1_0 VALUES (1, 0, 0, 29, 1, 0, 52000000, '\xfe0000000000000000000000000000000040420f000000000008000102030405060708090a1415161718191a1b1c1d1e32333428292a2b', '\xfe0000000000000000000000000000000001000000000000000155ad6a0b', '\xfe000000000000000000000000000000000100000000000000020000405555a5fe03', '\x020000000000000000000048009000d80020016801b001f80140028802d00200004a009400de0028017201bc01060250029a02e40200004b00960000004a009400de00', '\xfe470000000000000000000000000000000100000000000000020000b0aaaafeab02', '\x');
INSERT INTO storage.chunk_1_0 VALUES (1, 0, 29, 13, 4, 20000000, 61000000, '\xfe002d310100000000000000000000000040420f000000000008000102030405060708090a2829', '\x01000000000000000001000100010001000100010100', '\x000400000000000000', '\xfe00000000000000004a000000000000000100000000000000010018', '\x01490000000000000000000000000000000000010000', '\x');
INSERT INTO storage.class VALUES (1, 0, 'work');
INSERT INTO storage.class VALUES (1, 1, 'spam');
INSERT INTO storage.consumer VALUES (1, 'selector/bucket', 0, 0, 1795338292250978);
INSERT INTO storage.consumer VALUES (1, 'orchestrator:bucket', 3, 1, 1795338293419535);
INSERT INTO storage.dataset VALUES (1, 'notes', '  - name: notes
    source:
      s3:
        endpoint: "@ENDPOINT@"
        bucket: data
        prefix: day/
        region: eu-test-1
        style: path
        key_id_env: LAB_ID
        secret_env: LAB_SECRET
        credentials: null
        every: 100ms
      format: jsonl
      include: "*"
      import: reference
      on_erase: scrub
      settle: 0ms
    time: {from: field, field: "ts", unit: s}
    label: {from: field, field: "label", classes: ["work", "spam"]}
    subject: {from: field, field: "user"}
', '@DATA@/storage/notes', 'lab.yaml', convert_to('pipeline: {name: bucket, mode: live}
dataset:
  name: notes
  source:
    s3: {endpoint: "@ENDPOINT@", bucket: data, prefix: day/, region: eu-test-1, key_id_env: LAB_ID, secret_env: LAB_SECRET, every: 100ms}
    format: jsonl
    settle: 0ms
    on_erase: scrub
  time:   {from: field, field: ts}
  label:  {field: label, classes: [work, spam]}
  subject: {field: user}
trigger:   {policy: amount, samples: 1000000000}
selection: {policy: new_data}
preprocess:
  operators: [{op: json_text, field: text}, {op: tokenize_words}, {op: tokenize_hash, buckets: 64}]
  batch: {samples: 8}
training: {model: text_bag, loss: logistic}
', 'UTF8'), true, 42, 4, 0, 42, 27, 0, 4, 11, 0, 0, 0, 1956);
INSERT INTO storage.dead VALUES (1, 0, '\x', '\x0000001e', '\x00f83f');
INSERT INTO storage.feed VALUES (1, 1, 1, 17592186044416, 29);
INSERT INTO storage.feed VALUES (1, 2, 2, 17592186044441, 4);
INSERT INTO storage.feed VALUES (1, 3, 3, 17592186044427, 11);
INSERT INTO storage.feed VALUES (1, 4, 1, 17592186044445, 13);
INSERT INTO storage.file_group VALUES (1, 1, 5, '', 0, 1);
INSERT INTO storage.migration VALUES (1, '001_storage', '2026-11-22 09:04:51.434747+00', '909c7eee0340572252a9c88cbf2f7c4d');
INSERT INTO storage.migration VALUES (2, '002_files_across_chunks', '2026-11-22 09:04:51.643468+00', 'f23c2be3c89fe9e34f5c07b9591a3f2e');
INSERT INTO storage.migration VALUES (3, '003_file_entries', '2026-11-22 09:04:51.666467+00', '4201946d8f41d1b169797f9e6333bd0d');
INSERT INTO storage.migration VALUES (4, '004_runs', '2026-11-22 09:04:51.688307+00', '536f4ae5829d83d48353a2e47c507b8c');
INSERT INTO storage.migration VALUES (5, '005_push', '2026-11-22 09:04:51.71959+00', '6d088bfe1735fea8661600e80f900acb');
INSERT INTO storage.migration VALUES (6, '006_feed', '2026-11-22 09:04:51.735485+00', '2846528aec008564740ac730b3cf8d18');
INSERT INTO storage.migration VALUES (7, '007_s3', '2026-11-22 09:04:51.739534+00', 'acef6d2f0841af19e9871834d045c4c0');
INSERT INTO storage.migration VALUES (12, '012_frames', '2026-11-22 09:04:51.751242+00', 'e0c98248f787834e6169141cb8199e6e');
INSERT INTO storage.object VALUES (1, '\x6461792f612e6a736f6e6c', '"71a6a54ddd602ccdb624b2ffee98531f"', 795, 1770091501000000);
INSERT INTO storage.object VALUES (1, '\x6461792f636c6172612e6a736f6e6c', '"cd40d5ae03dad2eff6c85ac3b1f76755"', 225, 1770091504000000);
INSERT INTO storage.object VALUES (1, '\x6461792f6220632bc3bc2e6a736f6e6c', '"08a7dfbc7a9fb48cc155e0df0754d9e5"', 963, 1770091505000000);
INSERT INTO storage.run OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 29, false, true, '\xa465ac5b', '\x00008004208000004000000102000400002040000001000800001400002000080000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO storage.run OVERRIDING SYSTEM VALUE VALUES (2, 1, 1, 13, false, true, '\xa465ac5b', '\x0000800420800000400000010200040000204000000100080000140000200008');
INSERT INTO storage.run_segment_small VALUES (1, 0, '\x1d003e0583800b77a465ac5b000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000eceb7220bab1ce88000000000000000000000000000000000000000000000000000000000000002088418a39282dd6dc83514e9af5e6aada8b010000000000000000');
INSERT INTO storage.run_segment_small VALUES (2, 0, '\x0d003e0483800b77a465ac5b1d0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000eceb7220bab1ce881032547698cb0a0000000000000000');
SELECT pg_catalog.setval('storage.erasure_number_seq', 1, false);
SELECT pg_catalog.setval('storage.quarantine_number_seq', 1, false);
SELECT pg_catalog.setval('storage.run_number_seq', 2, true);
SELECT pg_catalog.setval('storage.subject_run_number_seq', 1, false);
ALTER TABLE ONLY storage.blocked
    ADD CONSTRAINT blocked_pkey PRIMARY KEY (dataset, hash);
ALTER TABLE ONLY storage.chunk
    ADD CONSTRAINT chunk_pkey PRIMARY KEY (dataset, block, first_row);
ALTER TABLE ONLY storage.chunk_1_0
    ADD CONSTRAINT chunk_1_0_pkey PRIMARY KEY (dataset, block, first_row);
ALTER TABLE ONLY storage.class
    ADD CONSTRAINT class_pkey PRIMARY KEY (dataset, number);
ALTER TABLE ONLY storage.consumer
    ADD CONSTRAINT consumer_pkey PRIMARY KEY (dataset, name);
ALTER TABLE ONLY storage.dataset
    ADD CONSTRAINT dataset_name_key UNIQUE (name);
ALTER TABLE ONLY storage.dataset
    ADD CONSTRAINT dataset_pkey PRIMARY KEY (number);
ALTER TABLE ONLY storage.dead
    ADD CONSTRAINT dead_pkey PRIMARY KEY (dataset, block);
ALTER TABLE ONLY storage.epoch
    ADD CONSTRAINT epoch_pkey PRIMARY KEY (number);
ALTER TABLE ONLY storage.erasure
    ADD CONSTRAINT erasure_pkey PRIMARY KEY (number);
ALTER TABLE ONLY storage.erasure
    ADD CONSTRAINT erasure_uuid_key UNIQUE (uuid);
ALTER TABLE ONLY storage.feed
    ADD CONSTRAINT feed_pkey PRIMARY KEY (dataset, sequence);
ALTER TABLE ONLY storage.file_group
    ADD CONSTRAINT file_group_pkey PRIMARY KEY (dataset, number);
ALTER TABLE ONLY storage.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);
ALTER TABLE ONLY storage.object
    ADD CONSTRAINT object_pkey PRIMARY KEY (dataset, key);
ALTER TABLE ONLY storage.pushed
    ADD CONSTRAINT pushed_pkey PRIMARY KEY (dataset, client, batch);
ALTER TABLE ONLY storage.quarantine
    ADD CONSTRAINT quarantine_pkey PRIMARY KEY (number);
ALTER TABLE ONLY storage.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (number);
ALTER TABLE ONLY storage.run_segment
    ADD CONSTRAINT run_segment_pkey PRIMARY KEY (run, number);
ALTER TABLE ONLY storage.run_segment_small
    ADD CONSTRAINT run_segment_small_pkey PRIMARY KEY (run, number);
ALTER TABLE ONLY storage.subject_run
    ADD CONSTRAINT subject_run_pkey PRIMARY KEY (number);
CREATE INDEX chunk_sequence ON ONLY storage.chunk USING btree (dataset, sequence);
CREATE INDEX chunk_1_0_dataset_sequence_idx ON storage.chunk_1_0 USING btree (dataset, sequence);
CREATE INDEX quarantine_path ON storage.quarantine USING btree (dataset, path);
CREATE INDEX run_dataset ON storage.run USING btree (dataset);
CREATE INDEX subject_run_dataset ON storage.subject_run USING btree (dataset);
ALTER INDEX storage.chunk_sequence ATTACH PARTITION storage.chunk_1_0_dataset_sequence_idx;
ALTER INDEX storage.chunk_pkey ATTACH PARTITION storage.chunk_1_0_pkey;
ALTER INDEX storage.run_segment_pkey ATTACH PARTITION storage.run_segment_small_pkey;
