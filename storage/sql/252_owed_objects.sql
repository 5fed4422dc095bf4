-- Erasures that owe the same object are settled together.
CREATE INDEX owed_object ON owed (dataset, key) WHERE NOT is_done;
