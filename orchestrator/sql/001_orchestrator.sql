-- What the orchestrator has decided and done. Every edge of a pipeline, run or erasure is one transaction here,
-- together with its effect and the event that tells people of it.

CREATE TABLE pipeline (
    id             bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name           text   NOT NULL UNIQUE,
    file           text   NOT NULL,
    config         bytea  NOT NULL,
    config_digest  text   NOT NULL,
    mode           text   NOT NULL,
    state          text   NOT NULL,
    error          text   NOT NULL DEFAULT '',
    after_time     bigint NOT NULL DEFAULT (-9223372036854775807), -- samples up to here belong to a trigger
    after_id       bigint NOT NULL DEFAULT 0,
    taken          bigint NOT NULL DEFAULT 0,                      -- samples that triggers have covered
    trigger_state  bytea  NOT NULL DEFAULT '',                     -- of the policy, after the newest trigger
    active_model   text,
    end_time       bigint NOT NULL DEFAULT 0, -- of the newest sample of a replay
    pending        bigint NOT NULL DEFAULT 0, -- live: samples taken since the newest trigger, and the newest of them
    pending_time   bigint NOT NULL DEFAULT (-9223372036854775807),
    pending_id     bigint NOT NULL DEFAULT 0,
    created_us     bigint NOT NULL
);

CREATE TABLE pipeline_dataset (
    pipeline bigint NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    ordinal  integer NOT NULL,
    dataset  bigint NOT NULL,
    name     text   NOT NULL,
    position bigint NOT NULL DEFAULT 0, -- change sequence: fixed for a replay, moving when live
    PRIMARY KEY (pipeline, ordinal)
);

CREATE TABLE trigger (
    pipeline    bigint NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    number      bigint NOT NULL,
    state       text   NOT NULL, -- fired, skipped, sealed, stored, done
    reason      text   NOT NULL,
    samples_new bigint NOT NULL,
    until_time  bigint NOT NULL,
    until_id    bigint NOT NULL,
    positions   bytea  NOT NULL, -- u64 per dataset
    set_digest  text   NOT NULL DEFAULT '',
    set_path    text   NOT NULL DEFAULT '',
    samples     bigint NOT NULL DEFAULT 0,
    skipped     text   NOT NULL DEFAULT '',
    fired_us    bigint NOT NULL,
    PRIMARY KEY (pipeline, number)
);

-- Lineage: which ids a sealed set holds, one bitmap per block of ids.
CREATE TABLE set_block (
    digest text   NOT NULL,
    block  bigint NOT NULL, -- id >> 16
    bits   bytea  NOT NULL,
    PRIMARY KEY (digest, block)
);
CREATE INDEX set_block_by_block ON set_block (block, digest);

CREATE TABLE run (
    number        bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    pipeline      bigint NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    purpose       text   NOT NULL, -- "train/3", "evaluate/…": the same purpose is never run twice
    mode          text   NOT NULL,
    trigger       bigint NOT NULL DEFAULT 0,
    set_digest    text   NOT NULL,
    set_path      text   NOT NULL,
    epochs        bigint NOT NULL,
    seed          bigint NOT NULL,
    base_model    text,            -- what it starts from; NULL: initial weights
    clean_epoch   bigint NOT NULL, -- samples erased up to this epoch were never delivered to it
    state         text   NOT NULL DEFAULT 'open', -- open, trained, done, failed
    starts        bigint NOT NULL DEFAULT 0,
    error         text   NOT NULL DEFAULT '',
    samples       bigint NOT NULL DEFAULT 0,
    loss          double precision NOT NULL DEFAULT 0,
    busy_ns       bigint NOT NULL DEFAULT 0,
    wait_ns       bigint NOT NULL DEFAULT 0,
    cpu_ns        bigint NOT NULL DEFAULT 0,
    model_file    text   NOT NULL DEFAULT '',
    outputs_file  text   NOT NULL DEFAULT '',
    fitted        bytea  NOT NULL DEFAULT '', -- until the model is stored
    audit         text   NOT NULL DEFAULT '{}',
    worker_cpu_ns bigint NOT NULL DEFAULT 0,
    bytes_read    bigint NOT NULL DEFAULT 0,
    bytes_sent    bigint NOT NULL DEFAULT 0,
    created_us    bigint NOT NULL,
    UNIQUE (pipeline, purpose)
);

CREATE TABLE model (
    id          text   PRIMARY KEY,
    pipeline    bigint NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    trigger     bigint NOT NULL,
    run         bigint NOT NULL,
    parent      text,            -- the model it started from
    set_digest  text   NOT NULL,
    clean_epoch bigint NOT NULL, -- of its run
    checksum    text   NOT NULL,
    bytes       bigint NOT NULL,
    file        text   NOT NULL, -- below the data directory
    fitted_file text   NOT NULL DEFAULT '',
    state       text   NOT NULL DEFAULT 'stored', -- stored, replacing, replaced, retired
    replaced_by text,
    erasure     bigint NOT NULL DEFAULT 0, -- the erasure that made or ended it
    until_time  bigint NOT NULL, -- newest sample of its trigger
    cost        text   NOT NULL DEFAULT '{}',
    created_us  bigint NOT NULL
);

CREATE TABLE evaluation (
    pipeline   bigint NOT NULL REFERENCES pipeline ON DELETE CASCADE,
    model      text   NOT NULL,
    name       text   NOT NULL,
    from_time  bigint NOT NULL,
    to_time    bigint NOT NULL,
    metric     text   NOT NULL,
    value      double precision, -- NULL: undefined
    samples    bigint NOT NULL,
    set_digest text   NOT NULL,
    PRIMARY KEY (pipeline, model, name, from_time, metric)
);

CREATE TABLE event (
    number   bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    pipeline bigint NOT NULL DEFAULT 0,
    erasure  bigint NOT NULL DEFAULT 0,
    key      text   NOT NULL, -- says what happened: the same thing is told once
    at_us    bigint NOT NULL,
    json     text   NOT NULL,
    UNIQUE (pipeline, erasure, key)
);
CREATE INDEX event_by_pipeline ON event (pipeline, number);

CREATE TABLE erasure (
    number        bigint PRIMARY KEY, -- storage's
    state         text   NOT NULL,
    reference     text   NOT NULL,
    dataset       text   NOT NULL,
    policy        text   NOT NULL DEFAULT '',
    epoch         bigint NOT NULL DEFAULT 0,
    samples       bigint NOT NULL DEFAULT 0,
    purged_files  bigint NOT NULL DEFAULT 0,
    error         text   NOT NULL DEFAULT '',
    accepted_us   bigint NOT NULL,
    in_force_us   bigint NOT NULL DEFAULT 0,
    replaced_us   bigint NOT NULL DEFAULT 0,
    finished_us   bigint NOT NULL DEFAULT 0,
    receipt       text   NOT NULL DEFAULT '',
    receipt_hash  text   NOT NULL DEFAULT '',
    receipt_order bigint NOT NULL DEFAULT 0
);

CREATE TABLE erasure_block (
    erasure bigint NOT NULL REFERENCES erasure ON DELETE CASCADE,
    block   bigint NOT NULL,
    bits    bytea  NOT NULL,
    PRIMARY KEY (erasure, block)
);

-- The models that had seen what was erased, and what became of them.
CREATE TABLE erasure_model (
    erasure     bigint NOT NULL REFERENCES erasure ON DELETE CASCADE,
    model       text   NOT NULL,
    pipeline    bigint NOT NULL,
    trigger     bigint NOT NULL,
    action      text   NOT NULL, -- retrain, retire, keep
    replacement text,
    done        boolean NOT NULL DEFAULT false,
    PRIMARY KEY (erasure, model)
);

-- For people with psql.
CREATE VIEW models AS
    SELECT m.id, p.name AS pipeline, m.trigger, m.parent, m.state, m.checksum, m.bytes, m.id = p.active_model AS active
    FROM model m JOIN pipeline p ON p.id = m.pipeline ORDER BY p.id, m.trigger, m.created_us;
CREATE VIEW triggers AS
    SELECT p.name AS pipeline, t.number, t.state, t.reason, t.samples_new, t.samples, t.set_digest, t.skipped
    FROM trigger t JOIN pipeline p ON p.id = t.pipeline ORDER BY p.id, t.number;
