-- The path of a job's sample set is relative to the data directory, which may be copied or moved. An older Weir kept it
-- whole; all sets lie in its folder of sets.
UPDATE job SET set_path = regexp_replace(set_path, '^/.*/(sets/[^/]+)$', '\1') WHERE set_path LIKE '/%';
