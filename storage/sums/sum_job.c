/* Summing beside the loop: see sum_job.h. */
#include "storage/sums/sum_job.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NICE = 10 };

/* ---- a list of tasks ---- */

void storage_sum_job_file(struct sum_job *job, char *path, const struct stored_file *file)
{
    struct sum_file *last = job->file_count > 0 ? &job->files[job->file_count - 1] : NULL;

    if (last != NULL && strcmp(last->path, path) == 0) {
        free(path);
        return;
    }
    job->files = weir_grow(job->files, job->file_count, &job->file_capacity, sizeof(*job->files));
    job->files[job->file_count++] =
        (struct sum_file){.path = path, .device = file->device, .inode = file->inode};
}

void storage_sum_job_add(struct sum_job *job, const struct sum_task *task)
{
    job->tasks[job->task_count] = *task;
    job->tasks[job->task_count++].file = job->file_count - 1;
}

void storage_sum_job_clear(struct sum_job *job)
{
    for (size_t i = 0; i < job->file_count; i++)
        free(job->files[i].path);
    free(job->files);
    job->files = NULL;
    job->file_count = job->file_capacity = job->task_count = 0;
}

/* ---- reading ---- */

int storage_sum_file_open(const struct sum_file *file)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat found;

    if (fd < 0 ||
        (fstat(fd, &found) == 0 && found.st_dev == file->device && found.st_ino == file->inode))
        return fd;
    close(fd);
    return -1;
}

void storage_sum_task_read(const struct storage_secret *secret, int fd, uint8_t *buffer,
                           struct sum_task *task)
{
    uint32_t known = task->known.length;
    uint32_t size = known > task->length ? known : task->length;

    task->outcome = known > 0 ? SUM_OTHER : SUM_NOT_READ;
    if (weir_read_at(fd, buffer, size, task->at.block * SUM_BLOCK_BYTES) != (ssize_t)size)
        return;
    if (known > 0 &&
        storage_block_sum(secret, &task->at, weir_bytes(buffer, known)) != task->known.sum)
        return;
    task->outcome = SUM_GOOD;
    if (task->length > 0)
        task->sum = storage_block_sum(secret, &task->at, weir_bytes(buffer, task->length));
}

/* Lowers the priority of this thread alone, on the processor and on the disk: readers of samples go first. */
static void give_way(void)
{
    pid_t thread = (pid_t)syscall(SYS_gettid);

    (void)setpriority(PRIO_PROCESS, (id_t)thread, NICE);
    (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, thread,
                  IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_NR_LEVELS - 1));
}

void storage_sum_job_run(struct weir_work *work, struct sum_job *job)
{
    WEIR_AUTO_FREE uint8_t *buffer = weir_calloc(1, SUM_BLOCK_BYTES);
    size_t file = SIZE_MAX;
    int fd = -1;

    give_way();
    for (size_t i = 0; i < job->task_count && weir_work_goes_on(work, i, job->task_count); i++) {
        struct sum_task *task = &job->tasks[i];

        if (task->file != file) {
            if (fd >= 0)
                close(fd);
            file = task->file;
            fd = storage_sum_file_open(&job->files[file]);
        }
        task->outcome = SUM_NOT_READ;
        if (fd >= 0)
            storage_sum_task_read(job->secret, fd, buffer, task);
    }
    if (fd >= 0)
        close(fd);
}
