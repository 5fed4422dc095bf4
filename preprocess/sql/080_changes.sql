-- Each of these tables counts the statements that may have left dead rows in it, so that only tables that have changed are
-- rewritten before a receipt (orchestrator/erasures/holders.def). A sequence counts what is rolled back, too.
CREATE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval(format('%I.%I', TG_TABLE_SCHEMA, 'changes_of_' || TG_TABLE_NAME));
    RETURN NULL;
END $$;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
    'job', 'rank', 'failure'
    ] LOOP
        EXECUTE format('CREATE SEQUENCE %I', 'changes_of_' || name);
        EXECUTE format('CREATE TRIGGER counts_changes BEFORE UPDATE OR DELETE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION count_change()', name);
    END LOOP;
END $$;
