-- Two intervals of one evaluation may begin at the same time. `low` and `high`: the bootstrap interval of a value.
ALTER TABLE evaluation ADD COLUMN low double precision, ADD COLUMN high double precision;
ALTER TABLE evaluation DROP CONSTRAINT evaluation_pkey;
ALTER TABLE evaluation ADD PRIMARY KEY (pipeline, model, name, from_time, to_time, metric);
