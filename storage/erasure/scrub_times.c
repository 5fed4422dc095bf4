/* Times of a file that is overwritten: see scrub_times.h. */
#include "storage/erasure/scrub_times.h"

#include "core/base/file.h"
#include "storage/files/owned.h"
#include "storage/scanning/scrubbed.h"

#include <errno.h>

enum { UNKNOWN = 1 }; /* no ctime */

/* The mtime that the file keeps, also after a death at this point. */
static struct timespec time_of(const struct stored_file *file, const struct stat *before)
{
    if ((uint64_t)before->st_size != file->size || file->mtime_ns == 0 ||
        weir_mtime_ns(before) == file->mtime_ns)
        return before->st_mtim;
    return weir_mtime_of_ns(file->mtime_ns);
}

bool storage_scrub_keep_time(const struct dataset *dataset, struct stored_file *file, int fd,
                             const struct stat *before)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(file, before)};
    struct stat now;

    if (futimens(fd, times) == 0)
        return true;
    if (errno != EPERM || storage_owns(dataset) || fstat(fd, &now) < 0)
        return false;
    file->mtime_ns = weir_mtime_ns(&now);
    file->group->is_ahead = true; /* written with the rows of the erasure */
    return true;
}

void storage_scrub_note_change(const struct dataset *dataset, struct stored_file *file, int fd,
                               const struct stat *before)
{
    struct stat now;

    if (storage_owns(dataset) || dataset->declaration->format->is_one_sample || fstat(fd, &now) < 0)
        return;
    file->scrubbed_ns = storage_scrubbed_is_changed(file, before) ? UNKNOWN : weir_ctime_ns(&now);
}
