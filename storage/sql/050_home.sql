-- Identity of DATA_DIR/storage/.home, which a copy of the data directory does not have (storage/restored.h).
CREATE TABLE home (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    inode bigint NOT NULL,
    changed_ns bigint NOT NULL
);
