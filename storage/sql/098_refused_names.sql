-- Whose refused records and duplicates still stand in a mirror of objects, as keyed hashes of subjects and keys: an erasure overwrites
-- those of the people it is about (storage/erasure/dropping.h).
CREATE TABLE refused_name (
    dataset bigint NOT NULL,
    path    bytea  NOT NULL,
    hashes  bytea  NOT NULL -- 8 bytes each
);
CREATE INDEX refused_name_path ON refused_name (dataset, path);
CREATE SEQUENCE changes_of_refused_name;
CREATE TRIGGER counts_changes BEFORE UPDATE OR DELETE ON refused_name
    FOR EACH STATEMENT EXECUTE FUNCTION count_change();
-- Some were refused before there were names: until an erasure has gone over all files of the dataset.
ALTER TABLE dataset ADD COLUMN refused_unnamed boolean NOT NULL DEFAULT false;
UPDATE dataset SET refused_unnamed = true WHERE quarantined + duplicate > 0;
