-- Records of a page that have no fingerprint: too short, or monotonous, to be searched for (storage/erasure/fingerprint.h).
ALTER TABLE erasure_prints ADD COLUMN unsearched bigint NOT NULL DEFAULT 0;
