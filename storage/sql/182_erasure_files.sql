-- The files that an erasure has touched are counted as they come: a page knows how many of its files no page before it had.
ALTER TABLE erasure_ids DROP COLUMN touched;
CREATE TABLE erasure_file (
    erasure bigint NOT NULL,
    file    bytea  NOT NULL, -- dataset and number, of those that hold several records
    PRIMARY KEY (erasure, file)
);
