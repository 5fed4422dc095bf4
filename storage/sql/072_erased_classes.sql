-- The name of a class that the stream brought may be a person's: it goes with the last sample of the class that is erased.
ALTER TABLE class
    ADD COLUMN touched_by bigint NOT NULL DEFAULT 0, -- an erasure that has taken a sample of it, until it is looked for others
    ADD COLUMN is_erased  boolean NOT NULL DEFAULT false; -- the name was replaced; the number stays
