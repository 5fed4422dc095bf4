-- Partitions of run_segment count for themselves, row by row: what an erasure takes out of one rewrites no other. Their
-- sequences go with them.
DROP TRIGGER counts_changes ON run_segment;
DROP SEQUENCE changes_of_run_segment;
CREATE TRIGGER counts_changes AFTER UPDATE OR DELETE ON run_segment FOR EACH ROW EXECUTE FUNCTION count_change();

DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'run_segment'::regclass LOOP
        EXECUTE format('CREATE SEQUENCE %I OWNED BY %I.run', 'changes_of_' || name, name);
    END LOOP;
END $$;
