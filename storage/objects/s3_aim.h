/* The next step for an object that erased samples came from, by the versions that are listed of it.
 * Pure. */
#ifndef WEIR_STORAGE_S3_AIM_H
#define WEIR_STORAGE_S3_AIM_H

#include "storage/objects/s3_list.h"

struct s3_aim {
    bool is_rewrite; /* the newest stays, written again; else nothing does */
    /* the erased sample was in the version that was mirrored last, not in an older one */
    bool was_live;
    /* of the mirrored version, which may be deleted; in a rewrite, of the one that was written; "": not known */
    const char *etag;
    /* in a rewrite: ETag of the version that the mirrored file replaces; NULL: the file is not up to date */
    const char *ready;
};

enum s3_step {
    S3_DONE,  /* nothing of the erased sample is left */
    S3_LEFT,  /* the newest version is somebody else's */
    S3_LATER, /* the newest version has to be mirrored and scanned first */
    S3_DELETE_OLDER,
    S3_DELETE_NEWEST, /* the last one: until it goes, it tells whose the object was */
    S3_WRITE,
};

/* Returns the step that is due. */
enum s3_step storage_s3_next_step(const struct s3_versions *versions, const struct s3_aim *aim);

#endif
