/* Blocks that are read and summed on a thread of their own: some that have no sum yet, some to be compared with the one
 * they have, some that have grown, which are both. */
#ifndef WEIR_STORAGE_SUM_JOB_H
#define WEIR_STORAGE_SUM_JOB_H

#include "core/loop/work.h"
#include "storage/catalog/file_group.h"
#include "storage/sums/block_sum.h"

enum { SUM_TASKS_MAX = 512 }; /* 64 MiB */

enum sum_outcome {
    SUM_NOT_READ, /* its file is not the one that was meant, or it has no sum and cannot be read */
    SUM_GOOD,     /* it holds what `known` says, or had no sum; `sum` is that of `length` bytes */
    SUM_OTHER,    /* it holds something else, or ends early, or cannot be read */
};

struct sum_task {
    struct block_at at;
    size_t file;            /* of the job */
    struct block_sum known; /* length 0: none */
    uint32_t length;        /* to be summed; 0: only compared */
    enum sum_outcome outcome;
    uint64_t sum;
};

struct sum_file {
    char *path;
    uint64_t device, inode;
};

struct sum_job {
    const struct storage_secret *secret;
    struct sum_file *files;
    size_t file_count, file_capacity;
    struct sum_task tasks[SUM_TASKS_MAX];
    size_t task_count;
};

/* The file of the next tasks, unless it is that of the newest. Takes `path` over. */
void storage_sum_job_file(struct sum_job *job, char *path, const struct stored_file *file);
/* A task for that file. */
void storage_sum_job_add(struct sum_job *job, const struct sum_task *task);
void storage_sum_job_clear(struct sum_job *job);
/* All tasks, on the thread of `work`. */
void storage_sum_job_run(struct weir_work *work, struct sum_job *job);

/* The file as it is meant; -1 when another one, or none, stands there. */
int storage_sum_file_open(const struct sum_file *file);
/* Reads a block and compares and sums it; `buffer` has room for one. */
void storage_sum_task_read(const struct storage_secret *secret, int fd, uint8_t *buffer,
                           struct sum_task *task);

#endif
