/* The next step for an object that erased samples came from, by the versions that are listed of it.
 * Pure. */
#ifndef WEIR_STORAGE_S3_AIM_H
#define WEIR_STORAGE_S3_AIM_H

#include "storage/objects/s3_list.h"

struct s3_aim {
    bool is_rewrite; /* the newest stays, written again; else nothing does */
    bool was_live; /* what was erased was in what was mirrored last, not in what was there before */
    /* of what was mirrored, which may go; rewritten: of what has been written; "": not known */
    const char *etag;
    /* rewritten: ETag of what the mirrored file replaces; NULL: it is not up to date */
    const char *ready;
};

enum s3_step {
    S3_DONE,  /* nothing of the erased is there now */
    S3_LEFT,  /* what is there now is somebody else's */
    S3_LATER, /* what is there now has to be mirrored and scanned first */
    S3_DELETE_OLDER,
    S3_DELETE_NEWEST, /* nothing else is left. A death before it leaves what tells whose it was */
    S3_WRITE,
};

enum s3_step storage_s3_next_step(const struct s3_versions *versions, const struct s3_aim *aim);

#endif
