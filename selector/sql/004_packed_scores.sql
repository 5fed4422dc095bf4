-- Scores are kept as scores/NAME.scores now. What was kept as NAME.outputs is asked for again where it is needed; the files go
-- at the next start, since no row names them any more.
DELETE FROM score_file;
