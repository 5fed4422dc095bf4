/* Bringing one file of many samples into a batch, in pieces: copy it if the dataset owns copies, then
 * index it window by window. A job can begin in the middle: where a file has grown, or where a death
 * left it. Owned by a scan. */
#ifndef WEIR_STORAGE_FILE_JOB_H
#define WEIR_STORAGE_FILE_JOB_H

#include "storage/files/copy.h"
#include "storage/intake/intake.h"
#include "storage/scanning/object_window.h"

struct file_job {
    struct intake intake;
    struct stored_file *file; /* staged, or stored and to be continued */
    struct stat source;
    uint64_t source_hash; /* of its ends, as it was when the job began */
    struct copying copying;
    size_t window_bytes;
    struct weir_buf head, window; /* their memory is kept from step to step */
    uint64_t passed;  /* after file->indexed, of a refused line whose end is looked for */
    bool is_copied;   /* nothing (more) to copy */
    bool is_new;      /* nobody knows the file yet */
    bool is_appended; /* somebody goes on writing: the line at the end is left for later */
    bool is_ending;   /* all is indexed: what is left of the file belongs to nobody */
    uint64_t blanked; /* bytes of the first unclaimed range, or of the rest of the file */
    bool has_blanked; /* something since the newest commit */
    struct s3_ranges *ranges;
    struct object_window *object; /* of a file whose bytes are in a bucket; NULL: none yet */
    bool is_open;
};

/* `job->intake` is filled by the caller, but for the file. */
void storage_file_job_begin(struct file_job *job, struct stored_file *file,
                            const struct stat *source);
/* One piece of work; *ret_done when the file is complete; nothing was done while it is_waiting.
 * STALE: it changes while it is read, and is left for the next scan as far as it came. UNAVAILABLE: what was to be read
 * did not come, and the next piece of work asks for it again. */
enum weir_status storage_file_job_step(struct file_job *job, bool *ret_done,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Before a commit: what is indexed of the file and became no sample is overwritten, however long that takes. */
enum weir_status storage_file_job_settle(struct file_job *job,
                                         struct weir_error *err) WEIR_MUST_USE;
void storage_file_job_end(struct file_job *job);
bool storage_file_job_is_waiting(const struct file_job *job);

#endif
