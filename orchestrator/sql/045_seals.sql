-- Everything of an erasure is purged and replaced: it waits for the seal, and for storage.
ALTER TABLE erasure ADD COLUMN checked boolean NOT NULL DEFAULT false;

-- Words are kept as they are: whoever searches the files finds them.
ALTER TABLE run ALTER COLUMN fitted SET STORAGE EXTERNAL, ALTER COLUMN audit SET STORAGE EXTERNAL;
ALTER TABLE event ALTER COLUMN json SET STORAGE EXTERNAL;
ALTER TABLE pipeline ALTER COLUMN trigger_state SET STORAGE EXTERNAL;
