/* The storage that preprocess tests script: locates the samples of one file, grants use leases,
 * erases. Runs in a thread of its own. */
#ifndef WEIR_TESTS_COMPONENT_PREPROCESS_STORAGE_H
#define WEIR_TESTS_COMPONENT_PREPROCESS_STORAGE_H

#include <stddef.h>
#include <stdint.h>

struct scripted_storage;

/* One sample per row: ids first_id, first_id + 1, … */
struct storage_script {
    const char *socket_dir;
    const char *path;
    uint64_t first_id;
    size_t count;
    const uint64_t *offsets; /* count + 1 of them */
};

struct scripted_storage *scripted_storage_start(const struct storage_script *script);
void scripted_storage_stop(struct scripted_storage *storage);
/* From now on located names a path that no worker can open; `read` is answered. */
void scripted_storage_hide(struct scripted_storage *storage);
/* From now on where samples are is told so long after it was asked first. */
void scripted_storage_slow_down(struct scripted_storage *storage, int64_t ms);
/* Counts the requests for the place of this sample. */
size_t scripted_storage_located(struct scripted_storage *storage, uint64_t id);
/* The file is what it is now: it has changed in place. */
void scripted_storage_look_again(struct scripted_storage *storage);
/* Requests `read` that were answered, and how many of the answers were written to memory that was lent:
 * every second one, as far as there was any. */
size_t scripted_storage_reads(struct scripted_storage *storage, size_t *ret_loans);
/* Counts the answers with the places of all samples at once. */
size_t scripted_storage_wholes(struct scripted_storage *storage);
void scripted_storage_erase(struct scripted_storage *storage, uint64_t id);

#endif
