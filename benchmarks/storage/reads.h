/* Random samples of a dataset, read through the service and by a plain loop over the same positions. */
#ifndef BENCHMARKS_STORAGE_READS_H
#define BENCHMARKS_STORAGE_READS_H

#include "benchmarks/rig.h"

#include <stddef.h>

/* Zeroed is empty. */
struct picks {
    size_t count;
    uint64_t *ids;
    uint32_t *files;
    uint64_t *offsets, *lengths;
    char **paths; /* of the files */
    size_t path_count;
    uint64_t length_max;
    int *fds;        /* of the files; -1: opened for each read */
    uint64_t digest; /* of what either side read; 0: neither has */
};

/* Picks `count` samples of the dataset at random, and asks storage where they are. With `keeps_open` the
 * plain loop has the files open before it begins. */
enum weir_status picks_make(struct rig *rig, const char *dataset, size_t count, bool keeps_open,
                            struct picks *ret_picks, struct weir_error *err) WEIR_MUST_USE;
void picks_fini(struct picks *picks);

/* Storage's `read`, several requests in flight; every frame is decoded. */
enum weir_status picks_read_there(struct picks *picks, struct rig *rig, double *ret_rate,
                                  struct weir_error *err) WEIR_MUST_USE;
/* pread() of each position, in the order picked. */
enum weir_status picks_read_here(struct picks *picks, double *ret_rate,
                                 struct weir_error *err) WEIR_MUST_USE;

#endif
