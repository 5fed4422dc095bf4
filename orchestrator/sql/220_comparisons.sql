-- Grids that were handed in, and their cells: each a pipeline, and what came of it. The results outlive the pipelines.
CREATE TABLE comparison (
    number     bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name       text   NOT NULL UNIQUE,
    owner      text   NOT NULL, -- tenant; '': of none
    file       text   NOT NULL,
    grid       bytea  NOT NULL,
    base_file  text   NOT NULL,
    base       bytea  NOT NULL, -- pipeline file; empty: it lies in the grid
    is_open    boolean NOT NULL DEFAULT true, -- cells that wait are begun
    created_us bigint NOT NULL
);

CREATE TABLE comparison_cell (
    comparison     bigint NOT NULL REFERENCES comparison ON DELETE CASCADE,
    cell           text   NOT NULL,
    config         bytea  NOT NULL,
    config_digest  text   NOT NULL,
    state          text   NOT NULL, -- waiting, running, done, failed
    pipeline       bigint NOT NULL DEFAULT 0, -- 0: none yet
    error          text   NOT NULL DEFAULT '', -- why its pipeline could not be begun
    started_us     bigint NOT NULL DEFAULT 0,
    finished_us    bigint NOT NULL DEFAULT 0,
    triggers       bigint NOT NULL DEFAULT 0,
    samples        bigint NOT NULL DEFAULT 0, -- of the sets that models were trained on
    cpu_ns         bigint NOT NULL DEFAULT 0, -- of trainers
    worker_cpu_ns  bigint NOT NULL DEFAULT 0,
    gpu_ns         bigint NOT NULL DEFAULT 0,
    bytes_read     bigint NOT NULL DEFAULT 0,
    bytes_sent     bigint NOT NULL DEFAULT 0,
    read_samples   bigint NOT NULL DEFAULT 0, -- that its runs were given, whoever made their batches
    shared_batches bigint NOT NULL DEFAULT 0, -- that were found made for another pipeline
    weir           text   NOT NULL DEFAULT '',
    machine        text   NOT NULL DEFAULT '',
    model_digest   text   NOT NULL DEFAULT '', -- of the newest model
    windows        text   NOT NULL DEFAULT '[]', -- measures of the models in use, by every evaluation and metric
    PRIMARY KEY (comparison, cell)
);

-- For people with psql.
CREATE VIEW comparisons AS
    SELECT c.name AS comparison, l.cell, l.state, l.triggers, l.samples, (l.cpu_ns + l.worker_cpu_ns) / 1e9 AS cpu_s,
           l.bytes_read, l.bytes_sent, l.config_digest, l.model_digest, l.weir, l.machine
    FROM comparison c JOIN comparison_cell l ON l.comparison = c.number ORDER BY c.number, l.cell;
