-- The file that a rerun is taken in with, where it is not the pipeline's own.
ALTER TABLE pipeline ADD COLUMN next_file text, ADD COLUMN next_config bytea;
