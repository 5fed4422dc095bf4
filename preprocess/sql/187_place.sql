-- The place of the last operators, packed like the rest: empty is not chosen yet.
ALTER TABLE plan ADD COLUMN place bytea NOT NULL DEFAULT '';
