-- The feed is told row by row behind dataset.feed_floor only; what lies before is told as the ranges that
-- were live then (storage/feed_snapshot.c). Rows of every kind may go once all consumers have passed them.
ALTER TABLE consumer
    ADD COLUMN snapshot bigint NOT NULL DEFAULT 0, -- up to here it is told live ranges
    ADD COLUMN seen_us bigint NOT NULL DEFAULT (extract(epoch FROM now()) * 1000000)::bigint;
