/* Copies of source files that the data directory owns (`import: copy`). A copy is made beside its
 * place and renamed there; storage_copy_sync() makes a batch of them durable at once, before the batch
 * that registers them commits. */
#ifndef WEIR_STORAGE_COPY_H
#define WEIR_STORAGE_COPY_H

#include "storage/catalog/catalog.h"
#include "storage/files/expand.h"

#include <sys/stat.h>

/* A copy in the making: bytes go in pieces, so that large files block nobody. Zeroed is none. */
struct copying {
    int from, to;       /* only while is_open */
    const char *copies; /* the folder that it is written below; the dataset's */
    uint64_t at, size;
    bool is_open;
    bool is_new;                 /* written beside its place, to be renamed */
    struct expansion *expansion; /* NULL: byte for byte */
    uint64_t kept; /* bytes at the beginning of what is expanded, which the copy has already */
};

/* Fails with `what` and errno, without the name of a file, which may be somebody's: it is logged. STALE when something
 * is gone, else IO. */
enum weir_status storage_copies_fail(const char *copies, const char *what,
                                     struct weir_error *err) WEIR_MUST_USE;

/* Begins to copy `path` as `found` (its lstat) says it is. From byte 0 a new file is made; from a
 * later byte the existing copy is cut there and goes on. STALE when the source has changed meanwhile. IO, here and
 * below, when the copy cannot be written: the text names no file of the source. */
enum weir_status storage_copy_begin(const struct dataset *dataset, const char *path,
                                    const struct stat *found, uint64_t from_byte,
                                    struct copying *copying, struct weir_error *err) WEIR_MUST_USE;
/* Copies about `bytes` at most. INVALID when a compressed source cannot be expanded: nothing is left of it. DENIED when
 * it cannot be read. */
enum weir_status storage_copy_step(struct copying *copying, uint64_t bytes,
                                   struct weir_error *err) WEIR_MUST_USE;
static inline bool storage_copy_is_done(const struct copying *copying)
{
    return copying->at == copying->size;
}
/* Gives the copy the source's mtime and its place; fills what readers will compare. STALE as above; of a source that
 * goes on the caller has seen that it still holds what was copied. */
enum weir_status storage_copy_end(const struct dataset *dataset, const char *path,
                                  const struct stat *found, struct copying *copying,
                                  struct stat *ret_copy, struct weir_error *err) WEIR_MUST_USE;
/* Nothing is left of a new copy. */
void storage_copy_abort(struct copying *copying);

/* True when the copy is the one that `file` records and holds exactly what the source holds now, which only was
 * touched: the copy then takes over the source's new mtime, and *ret_copy says what readers will compare. */
bool storage_copy_adopt(const struct dataset *dataset, const struct stored_file *file,
                        const struct stat *found, struct stat *ret_copy);

/* True when a folder of copies stands where the copy of `path` is to lie, or a copy where one of its folders
 * is to be: a file became a folder, or the reverse, and what was there must be removed first. */
bool storage_copy_is_blocked(const struct dataset *dataset, const char *path);
/* Unlinks a copy, and the folders that are empty then. What fails is swept at the next start. */
void storage_copy_remove(const struct dataset *dataset, const char *path);
/* Removes the folders of an unlinked copy that are empty, but for the first `kept` bytes; `place` ends with the last
 * of them then: to sync its parent is to sync what was removed. */
void storage_copy_prune(char *place, size_t kept);

/* Everything copied so far survives a power cut. */
enum weir_status storage_copy_sync(const struct dataset *dataset,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Removes files below dataset->copies that no live file of the dataset has as its copy: left by a death
 * between a copy and its registration, or between a removal's commit and its unlink, or by a commit whose answer was
 * lost. */
enum weir_status storage_copy_sweep(const struct dataset *dataset,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
