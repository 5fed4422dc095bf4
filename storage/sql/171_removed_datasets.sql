-- Datasets can be removed. Numbers of datasets are never given again: the highest of those that were removed.
CREATE TABLE last_removed (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    number bigint  NOT NULL
);
INSERT INTO last_removed (number) VALUES (0);

-- Everything of a dataset goes, whatever table it is in; what erasures did to it stays with them.
CREATE FUNCTION forget_dataset(gone bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE name text;
BEGIN
    FOR name IN
        SELECT 'run_segment_' || r.number FROM run r WHERE r.dataset = gone AND r.is_own
        UNION ALL
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'chunk'::regclass AND starts_with(c.relname, 'chunk_' || gone || '_')
    LOOP
        EXECUTE format('DROP TABLE IF EXISTS %I', name);
    END LOOP;
    DELETE FROM run_segment s USING run r WHERE r.number = s.run AND r.dataset = gone;
    FOR name IN
        SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE a.attname = 'dataset' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relnamespace = current_schema()::regnamespace AND c.relname <> 'erasure'
    LOOP
        EXECUTE format('DELETE FROM %I WHERE dataset = $1', name) USING gone;
    END LOOP;
    DELETE FROM dataset WHERE number = gone;
    UPDATE last_removed SET number = greatest(number, gone);
END $$;
