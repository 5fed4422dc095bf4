/* The datasets of a store, in memory: files, chunk index, which rows are dead, accounting.
 * Loaded from Postgres at the start and again whenever the outcome of a commit is unknown; changed by
 * batches (batch.h) and erasures. Owned by struct storage, used on its loop only. */
#ifndef WEIR_STORAGE_CATALOG_H
#define WEIR_STORAGE_CATALOG_H

#include "core/base/bits.h"
#include "core/db/db.h"
#include "core/wire/sample.h"
#include "storage/catalog/complaints.h"
#include "storage/catalog/declaration.h"
#include "storage/catalog/file_cache.h"
#include "storage/catalog/fresh.h"
#include "storage/catalog/scope.h"
#include "storage/keys/key_index.h"

struct scan;

/* The place of a chunk's rows; its columns stay in Postgres (chunk_cache.h). */
struct chunk_ref {
    uint32_t block;
    uint32_t first_row;
    uint32_t count;
    int64_t time_min, time_max; /* no row lies outside; an erasure may have narrowed them since */
};

/* Rows from this one on, up to the next run's, were added by one change. Rows are given out without gaps
 * and in the order of the changes, so that what was there at a position is what lies below a row, however
 * chunks are cut. */
struct added_run {
    uint64_t first_row; /* block << 16 | row */
    uint64_t sequence;
};

/* Rows of one block that are no longer live. */
struct dead_rows {
    struct weir_bits erased;
    struct weir_bits removed;
    struct weir_bits replaced;
};

/* ingested = live + erased + removed + replaced, always. */
struct accounts {
    uint64_t ingested, live, erased, removed, replaced;
    uint64_t quarantined, duplicate, blocked;
    uint64_t returned; /* of `ingested`: had been erased before */
    uint64_t bytes;
};

/* A hash that must not come in again, but for its last bit: that says whether it was met, and counted as blocked. */
struct blocked_hash {
    uint64_t word;
};
static inline bool storage_blocked_is_met(const struct blocked_hash *blocked)
{
    return blocked->word & 1;
}
enum { BLOCKED_SHARD_BITS = 12 };
struct blocked_shard {
    struct blocked_hash *at; /* by hash */
    size_t count, capacity;
};

/* State of a class with respect to erasures. */
struct class_mark {
    /* an erasure that has taken a sample of it; 0: none since others were last seen */
    uint64_t touched_by;
    bool is_erased; /* its name was replaced: no sample gets it again */
};

struct dataset {
    uint32_t number;
    char *name;
    char *text;   /* the declaration as text: what makes two of them the same */
    char *root;   /* the source, absolute; of a bucket its mirror; "" when samples are pushed */
    char *copies; /* where copies are, absolute; also set for references */
    struct weir_yaml *document;
    struct declarations declarations;
    const struct declaration *declaration;

    bool is_scanned;
    uint64_t next_row; /* block << 16 | row */
    uint64_t sequence;
    uint64_t feed_floor;
    bool accepts_returns; /* `on_return: accept`, as it was declared last */
    struct accounts accounts;
    char *tenants; /* tenants of the pipelines that have it, with blanks between; NULL: of none */

    char *columns; /* names, each ended by a line feed; NULL: no table, or not known yet */
    bool columns_are_staged; /* samples that are not committed yet have them */

    char **classes;
    struct class_mark *class_marks; /* of each */
    size_t class_count, class_capacity, class_mark_capacity;
    size_t class_stored; /* of them in Postgres */
    /* another one whenever marks of classes change, or labels are overwritten */
    uint64_t class_edition;

    struct chunk_ref *chunks; /* in id order */
    size_t chunk_count, chunk_capacity;
    size_t merged_up_to;    /* chunks that need no merge; they end where a block does */
    struct added_run *runs; /* by row, hence by sequence */
    size_t run_count, run_capacity;
    struct file_group **groups; /* by number, from 1 */
    size_t group_count, group_capacity;
    struct dead_rows *dead; /* by block */
    size_t dead_count;
    struct blocked_shard *blocked; /* by the upper bits of the hash; NULL: none */
    size_t blocked_count;
    struct key_index subjects;  /* owners of the samples */
    struct key_index keys;      /* names of the samples */
    struct dataset *updates;    /* dataset whose samples get labels from this one, */
    struct dataset *updated_by; /* and the other way round; NULL: none */

    struct file_cache *file_cache; /* of the catalog: what of `groups` is in memory */
    uint64_t paths_dropped;        /* grows when known files lose their paths, to an erasure */
    /* Another one as soon as a sample is no longer live, or its file is another one to readers: what they were told
     * under an older one holds no more. Not stored: drawn when the catalog is loaded. */
    uint64_t edition;

    struct fresh fresh; /* bytes of its files that are to be summed (storage/sums/sums.h) */

    struct scan *scan;            /* owned by scan.c */
    struct complaints complaints; /* parts of the source that could not be looked at */
    struct scope dirty; /* parts of the source that may have changed since a scan last looked */
    int64_t scan_started_ms;  /* of the newest scan */
    int64_t scan_busy_ms;     /* …: without what it waited for */
    int64_t next_scan_ms;     /* not before: scans may take a fifth of the time at most */
    int64_t next_whole_ms;    /* the same for scans of everything */
    int64_t next_periodic_ms; /* when everything is to be looked at without being asked */
};

struct catalog {
    const char *data_dir;
    struct key_budget *filters;    /* of all datasets' indexes */
    struct file_cache *file_cache; /* … files */
    struct dataset **datasets;     /* in the order of their numbers, which has gaps */
    size_t count;
    uint32_t last_number; /* of all that were ever declared */
};

struct catalog *storage_catalog_new(const char *data_dir);
enum weir_status storage_catalog_load(struct weir_db *db, const char *data_dir,
                                      struct catalog **ret_catalog,
                                      struct weir_error *err) WEIR_MUST_USE;
void storage_catalog_free(struct catalog *catalog);
WEIR_DEFINE_AUTO(catalog, storage_catalog_free)

/* NULL when there is none. */
struct dataset *storage_catalog_find(const struct catalog *catalog, const char *name);
struct dataset *storage_catalog_at(const struct catalog *catalog, uint64_t number);
/* Of the datasets with a number above this one the first, or NULL. */
struct dataset *storage_catalog_after(const struct catalog *catalog, uint64_t number);
/* Takes over `dataset`, whose number is above the last one's. */
void storage_catalog_add(struct catalog *catalog, struct dataset *dataset);

/* The declaration of a dataset, and where it was read. */
struct dataset_origin {
    const char *name;
    const char *file;         /* the pipeline file, for messages */
    struct weir_bytes config; /* its text */
    const char *root;         /* absolute; NULL: resolve the declared path now */
};

/* A dataset from its declaration; not yet stored. Its `document` is parsed again, so that it depends on
 * nobody's memory. */
enum weir_status storage_dataset_new(const struct catalog *catalog,
                                     const struct dataset_origin *origin,
                                     struct dataset **ret_dataset,
                                     struct weir_error *err) WEIR_MUST_USE;
void storage_dataset_free(struct dataset *dataset);
WEIR_DEFINE_AUTO(dataset, storage_dataset_free)

void storage_dataset_add_chunk(struct dataset *dataset, const struct chunk_ref *chunk);
void storage_dataset_add_run(struct dataset *dataset, struct added_run run);
/* Index of the run that holds this row (block << 16 | row), or the number of runs. */
size_t storage_dataset_run_of(const struct dataset *dataset, uint64_t row);
/* The first run that was added after a position of the feed; run_count when there is none. */
size_t storage_dataset_run_after(const struct dataset *dataset, uint64_t position);
/* The rows that were added up to a position of the feed lie below this one (block << 16 | row). */
uint64_t storage_dataset_row_at(const struct dataset *dataset, uint64_t position);
/* Gives the group and its files the next numbers and owns it from now on. */
void storage_dataset_add_group(struct dataset *dataset, struct file_group *group);
/* The file with this number, or NULL; it stays where it is as file_cache.h says. */
enum weir_status storage_dataset_file(const struct dataset *dataset, uint64_t number,
                                      struct stored_file **ret_file,
                                      struct weir_error *err) WEIR_MUST_USE;
/* The last group, whose files are always in memory, or NULL. */
struct file_group *storage_dataset_last_group(const struct dataset *dataset);
/* Number of the dataset's last file, plus one. */
uint64_t storage_dataset_file_end(const struct dataset *dataset);
/* The group that still takes files, or NULL. */
struct file_group *storage_dataset_open_group(const struct dataset *dataset);
/* Index of the first chunk with a row at or after this one (block << 16 | row). */
size_t storage_dataset_chunk_from(const struct dataset *dataset, uint64_t row);
/* The chunks that may hold samples of `file`: [first, end) of dataset->chunks. */
struct chunk_span {
    size_t first, end;
};
struct chunk_span storage_dataset_chunks_of(const struct dataset *dataset,
                                            const struct stored_file *file);
/* The id of block << 16 | row. */
uint64_t storage_dataset_id(const struct dataset *dataset, uint64_t place);
/* The chunk that holds this row, or NULL. */
const struct chunk_ref *storage_dataset_chunk(const struct dataset *dataset, uint32_t block,
                                              uint32_t row);
/* The dead rows of a block, made on demand. */
struct dead_rows *storage_dataset_dead(struct dataset *dataset, uint32_t block);
bool storage_dataset_is_erased(const struct dataset *dataset, uint32_t block, uint32_t row);
/* Invalidates sample locations that were handed out: the next edition. */
void storage_dataset_bump_edition(struct dataset *dataset);
/* Erased, removed or replaced. */
bool storage_dataset_is_dead(const struct dataset *dataset, uint32_t block, uint32_t row);
/* NULL when the hash may come in. */
struct blocked_hash *storage_dataset_blocked(const struct dataset *dataset, uint64_t hash);
void storage_dataset_block(struct dataset *dataset, uint64_t hash, bool is_met);
/* Number of the blocked hashes that were met. */
uint64_t storage_dataset_met(const struct dataset *dataset);
/* True when names of classes come with the samples: they may be people's. */
bool storage_dataset_grows_classes(const struct dataset *dataset);
/* The name that takes the place of one that may be a person's; the caller frees it. */
char *storage_erased_class_name(size_t number) WEIR_MUST_USE;
/* A declared list of classes is there from the start. */
void storage_dataset_name_classes(struct dataset *dataset);
/* Number of a class; a name not met before gets the next one, if the dataset grows its list. -1: no. */
int64_t storage_dataset_class(struct dataset *dataset, struct weir_bytes name);
/* Absolute path of what readers open, in the caller's memory. */
char *storage_dataset_path(const struct dataset *dataset,
                           const struct stored_file *file) WEIR_MUST_USE;

#endif
