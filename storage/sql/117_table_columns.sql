-- Names of the columns of a dataset whose records are tables, each ended by a line feed; '': not known yet.
ALTER TABLE dataset ADD COLUMN columns text NOT NULL DEFAULT '';
