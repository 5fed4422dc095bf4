-- Tenant of the job's pipeline: a worker whose key is for one tenant is leased nothing of another.
ALTER TABLE job ADD COLUMN tenant text NOT NULL DEFAULT '';
