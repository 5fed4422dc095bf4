-- Refused records and duplicates whose bytes still stand in their file: a file that is only referred to, a mirror, or a copy that
-- was made before copies were overwritten.
ALTER TABLE quarantine ADD COLUMN stays boolean NOT NULL DEFAULT false;
UPDATE quarantine SET stays = true WHERE NOT is_blocked;
ALTER TABLE dataset ADD COLUMN duplicates_gone bigint NOT NULL DEFAULT 0; -- of `duplicate`: overwritten
