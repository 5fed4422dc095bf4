/* The deep step of an erasure: tables are rewritten without their dead rows, then the write-ahead log is
 * cycled. One table at a time, so that requests are answered between; repeating it is harmless. */
#include "storage/erasure/open_erasure.h"

#include "core/base/memory.h"

enum { WAL_CYCLES = 3 };

static const char *const TABLES[] = {"file_group", "run_segment", "quarantine", "object", "owed"};

static void rewrite(struct storage *storage, struct open_erasure *erasure, const char *table)
{
    WEIR_AUTO_FREE char *sql = weir_format("VACUUM (FULL, ANALYZE) %s", table);
    struct weir_error err;

    if (weir_db_exec(storage->db, sql, &err) != WEIR_OK)
        storage_erasure_remark(erasure, "old row versions stay in Postgres until its next VACUUM "
                                        "FULL: it could not be run now");
}

static void rewrite_partition(struct storage *storage, struct open_erasure *erasure)
{
    uint64_t partition = erasure->partitions.at[erasure->deep_at++];
    WEIR_AUTO_FREE char *table =
        weir_format("chunk_%u_%u", (uint32_t)(partition >> 32), (uint32_t)partition);

    rewrite(storage, erasure, table);
}

/* Old segments are recycled once checkpoints have passed them (they are then overwritten). */
static void cycle_wal(struct storage *storage, struct open_erasure *erasure)
{
    struct weir_error err;

    if (weir_db_exec(storage->db, "DO $$ BEGIN PERFORM pg_switch_wal(); END $$", &err) != WEIR_OK ||
        weir_db_exec(storage->db, "CHECKPOINT", &err) != WEIR_OK)
        storage_erasure_remark(erasure, "Postgres keeps old times, labels and keyed hashes in its "
                                        "write-ahead log until it recycles those segments");
}

void storage_scrub_deep(struct storage *storage, struct open_erasure *erasure)
{
    size_t done;

    if (erasure->deep_at < erasure->partitions.count) {
        rewrite_partition(storage, erasure);
        return;
    }
    done = erasure->deep_at - erasure->partitions.count;
    if (done < WEIR_COUNT(TABLES))
        rewrite(storage, erasure, TABLES[done]);
    else
        cycle_wal(storage, erasure);
    erasure->deep_at++;
    erasure->is_deep = done + 1 == WEIR_COUNT(TABLES) + WAL_CYCLES;
}
