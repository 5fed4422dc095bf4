/* Look-ups in a cache of a million rows, in batches at random, as a worker makes them. */
#ifndef BENCHMARKS_REUSE_LOOKUP_H
#define BENCHMARKS_REUSE_LOOKUP_H

#include "preprocess/worker/kept_store.h"

/* Zeroed is none. */
struct lookup {
    char *folder;
    struct kept_store store;
    uint64_t rows;
    uint64_t *ids; /* of them, in random order … */
    size_t next;   /* … how far that has come */
};

/* Writes the rows into a folder below `directory`; does nothing if they are there. */
enum weir_status lookup_open(struct lookup *lookup, const char *directory, double scale,
                             struct weir_error *err) WEIR_MUST_USE;
void lookup_close(struct lookup *lookup);
/* Returns how many rows are found in a second of CPU time. */
double lookup_rate(struct lookup *lookup);

#endif
