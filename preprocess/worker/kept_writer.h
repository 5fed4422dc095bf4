/* Rows that a worker has made and that are to be kept: gathered while batches are made, written as a segment by a
 * thread of its own. Nothing waits for it: rows that find no room are not kept. */
#ifndef WEIR_PREPROCESS_WORKER_KEPT_WRITER_H
#define WEIR_PREPROCESS_WORKER_KEPT_WRITER_H

#include "core/loop/work.h"
#include "core/wire/cache_segment.h"

enum {
    KEPT_GATHERED_BYTES_MAX = 32 << 20, /* rows that wait, and as many that are written */
    KEPT_SEGMENT_BYTES = 4 << 20,       /* gathered, they are written at once */
    KEPT_UNUSED_S = 60,                 /* a segment that was used since is not evicted */
    KEPT_SAMPLED = 64,
};

/* The folder of the cache, and its limits. */
struct kept_folder {
    const char *path;
    uint64_t bytes_max; /* of all segments */
    enum weir_compression how;
};

/* Makes room for `bytes` among the segments in the folder. The first to go is the one whose bytes spare least for the
 * time that nobody has used it, of KEPT_SAMPLED that are looked at (Blankstein et al., "Hyperbolic Caching", ATC 2017).
 * Nothing goes that was used lately, so that a cache that is too small for an epoch keeps a part of it, instead of
 * nothing that lasts (MinIO, in Mohan et al., "Analyzing and Mitigating Data Stalls in DNN Training", VLDB 2021).
 * False: there is none. Forgotten drafts go, too. */
bool preprocess_kept_make_room(const struct kept_folder *folder, uint64_t bytes,
                               uint64_t *ret_evicted);

struct kept_writer;
struct kept_writer *preprocess_kept_writer_new(struct weir_loop *loop, struct kept_folder folder);
/* Waits for what is being written. */
void preprocess_kept_writer_free(struct kept_writer *writer);

/* Gathers a row, until preprocess_kept_writer_settle(). */
void preprocess_kept_writer_add(struct kept_writer *writer, uint64_t id, uint64_t key,
                                struct weir_bytes row);
/* The rows since the last call are good, or are not; they were all made in `made_ns`. */
void preprocess_kept_writer_settle(struct kept_writer *writer, bool are_good, int64_t made_ns);
/* Begins to write what was gathered, if that is much, or has waited long: the longer, the more segments there are.
 * Returns true when a segment was finished since the last call. */
bool preprocess_kept_writer_step(struct kept_writer *writer, size_t segments, uint64_t epoch,
                                 int64_t now_ms);
/* Writes what was gathered, and waits for it: before the worker ends. */
void preprocess_kept_writer_flush(struct kept_writer *writer, uint64_t epoch);
/* Drops what was gathered, and what is being written: no such row is anywhere afterwards. */
void preprocess_kept_writer_drop(struct kept_writer *writer);

#endif
