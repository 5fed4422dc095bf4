-- How the pipeline of a job shares the workers with the others, so that a dispatcher that is started again goes on so.
ALTER TABLE job ADD COLUMN pipeline bigint NOT NULL DEFAULT 0; -- 0: one of its own
ALTER TABLE job ADD COLUMN share double precision NOT NULL DEFAULT 1;
ALTER TABLE job ADD COLUMN workers bigint NOT NULL DEFAULT 0; -- at once; 0: as many as there are
