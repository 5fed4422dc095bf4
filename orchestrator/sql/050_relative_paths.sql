-- Paths of sealed sets are relative to the data directory, which may be copied or moved. An older Weir kept them whole;
-- all of them lie in its folder of sets.
UPDATE trigger         SET set_path = regexp_replace(set_path, '^/.*/(sets/[^/]+)$', '\1') WHERE set_path LIKE '/%';
UPDATE run             SET set_path = regexp_replace(set_path, '^/.*/(sets/[^/]+)$', '\1') WHERE set_path LIKE '/%';
UPDATE trigger_score   SET set_path = regexp_replace(set_path, '^/.*/(sets/[^/]+)$', '\1') WHERE set_path LIKE '/%';
UPDATE trigger_holdout SET set_path = regexp_replace(set_path, '^/.*/(sets/[^/]+)$', '\1') WHERE set_path LIKE '/%';
