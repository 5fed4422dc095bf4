-- When a change became visible: the way from data to model begins there.
ALTER TABLE feed ADD COLUMN visible_us bigint NOT NULL DEFAULT 0; -- 0: not known
