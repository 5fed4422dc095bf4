-- Tenant of the pipeline: a worker whose key is for one tenant reads no set with a dataset that none of its pipelines has.
ALTER TABLE pipeline ADD COLUMN tenant text NOT NULL DEFAULT '';
