-- Tenants whose pipelines have the dataset, with a blank between: whoever has a key for one of them alone reads no other.
ALTER TABLE dataset ADD COLUMN tenants text NOT NULL DEFAULT '';
