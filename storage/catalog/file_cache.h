/* Files of file groups in memory, as many as a bound allows: the others are brought from Postgres when they are looked
 * at, a group at a time. Groups leave when room is made, unless somebody holds them: a pin, a batch that is to write
 * them, or a change that no row knows of yet. So what a pointer to a file points to stays until
 *   - the next storage_file_cache_trim(), which storage_find(), storage_find_all(), walks over known files and the
 *     pump begin with, or
 *   - the pin is taken away.
 * Owned by the catalog. */
#ifndef WEIR_STORAGE_FILE_CACHE_H
#define WEIR_STORAGE_FILE_CACHE_H

#include "core/db/db.h"
#include "storage/catalog/file_group.h"

enum { FILE_CACHE_BYTES = 64 << 20 }; /* some 400,000 files */

struct file_cache {
    struct weir_db *db;
    size_t bytes, bytes_max;
    struct file_group **groups; /* with their files in memory */
    size_t count, capacity;
    size_t hand; /* index of the next one to be looked at when room is made */
};

void storage_file_cache_fini(struct file_cache *cache);
/* Brings the files of a group of the dataset with this number. UNAVAILABLE without the database, CORRUPT when its row
 * is damaged. */
enum weir_status storage_file_cache_get(struct file_cache *cache, uint32_t dataset,
                                        struct file_group *group,
                                        struct weir_error *err) WEIR_MUST_USE;
/* The row of a group as it is in memory, which counts from now on. */
enum weir_status storage_file_cache_write(struct file_cache *cache, uint32_t dataset,
                                          struct file_group *group,
                                          struct weir_error *err) WEIR_MUST_USE;
/* A group whose files are in memory is in the cache, or takes more memory than before. */
void storage_file_cache_put(struct file_cache *cache, struct file_group *group);
/* Makes room, but while a statement is waited for. */
void storage_file_cache_trim(struct file_cache *cache);

static inline void storage_file_pin(struct file_group *group)
{
    group->pins++;
}
static inline void storage_file_unpin(struct file_group *group)
{
    group->pins--;
}

#endif
