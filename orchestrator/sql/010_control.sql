-- What people order of pipelines: see orchestrator/pipeline/control.c.
ALTER TABLE pipeline
    ADD COLUMN wish       text   NOT NULL DEFAULT '', -- pause, remove, rerun: what has not come about yet
    ADD COLUMN generation bigint NOT NULL DEFAULT 1;  -- of those that were taken in under its name: 1, 2, …

-- A name is free again once its pipeline is removed. The row stays: models and lineage hang on it.
ALTER TABLE pipeline DROP CONSTRAINT pipeline_name_key;
CREATE UNIQUE INDEX pipeline_by_name ON pipeline (name) WHERE state <> 'REMOVED';
