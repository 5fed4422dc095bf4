-- The identity that a data directory and its database share, and where both were (storage/home.h).
ALTER TABLE home
    ADD COLUMN identity text NOT NULL DEFAULT '',
    ADD COLUMN place bytea NOT NULL DEFAULT '', -- the data directory
    ADD COLUMN cluster bytea NOT NULL DEFAULT ''; -- files of the database
