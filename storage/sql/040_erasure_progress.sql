-- Every change of an erasure's state has a number of its own, so that the orchestrator can ask what has moved on since
-- it last asked, of all erasures at once. A trigger draws it: whatever statement moves an erasure on is noticed.
CREATE SEQUENCE erasure_moves;
ALTER TABLE erasure ADD COLUMN moved bigint NOT NULL DEFAULT nextval('erasure_moves');
CREATE INDEX erasure_by_move ON erasure (moved);
CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.moved := nextval(format('%I.erasure_moves', TG_TABLE_SCHEMA));
    RETURN NEW;
END $$;
CREATE TRIGGER erasure_has_moved BEFORE UPDATE ON erasure
    FOR EACH ROW WHEN (NEW.state IS DISTINCT FROM OLD.state) EXECUTE FUNCTION note_move();
