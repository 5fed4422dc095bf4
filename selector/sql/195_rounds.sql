-- A training may be cut into rounds of so many epochs (`period`; 0: it is not), each on a set of its own: a row for each of them.
-- Shares are those of policies that have no rounds.
ALTER TABLE selection_component DROP CONSTRAINT selection_component_pipeline_trigger_fkey;
ALTER TABLE selection
    ADD COLUMN round  bigint NOT NULL DEFAULT 0,
    ADD COLUMN period bigint NOT NULL DEFAULT 0,
    DROP CONSTRAINT selection_pkey,
    ADD PRIMARY KEY (pipeline, trigger, round);
ALTER TABLE selection_component
    ADD COLUMN round bigint NOT NULL DEFAULT 0,
    ADD FOREIGN KEY (pipeline, trigger, round) REFERENCES selection ON DELETE CASCADE;
