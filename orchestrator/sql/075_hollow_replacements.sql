-- Why a model that was to be trained again has no replacement: nothing of its set is left.
ALTER TABLE erasure_model ADD COLUMN outcome text;
