/* See s3_aim.h. */
#include "storage/objects/s3_aim.h"

#include <string.h>

/* Returns the version that the store calls the latest; NULL: none. */
static const struct s3_version *newest_of(const struct s3_versions *versions)
{
    for (size_t i = 0; i < versions->count; i++) {
        if (versions->at[i].is_latest)
            return &versions->at[i];
    }
    return NULL;
}

/* True when the newest version holds nothing but the erased sample. A delete marker holds nothing. */
static bool may_go(const struct s3_version *newest, const struct s3_aim *aim)
{
    return newest == NULL || newest->etag == NULL ||
           (aim->was_live && strcmp(newest->etag, aim->etag) == 0);
}

static enum s3_step next_of_deletion(const struct s3_version *newest, bool has_older,
                                     const struct s3_aim *aim)
{
    if (!may_go(newest, aim) && (!has_older || !aim->was_live))
        return S3_LEFT;
    return has_older ? S3_DELETE_OLDER : S3_DELETE_NEWEST;
}

/* Without a newest one, deleting the others might delete everything. */
static enum s3_step next_of_rewriting(const struct s3_version *newest, bool has_older,
                                      const struct s3_aim *aim)
{
    if (newest == NULL)
        return S3_LATER;
    if (newest->etag == NULL)
        return has_older ? S3_DELETE_OLDER : S3_DELETE_NEWEST;
    if (!aim->was_live || strcmp(newest->etag, aim->etag) == 0)
        return has_older ? S3_DELETE_OLDER : S3_DONE;
    return aim->ready != NULL && strcmp(newest->etag, aim->ready) == 0 ? S3_WRITE : S3_LATER;
}

enum s3_step storage_s3_next_step(const struct s3_versions *versions, const struct s3_aim *aim)
{
    const struct s3_version *newest = newest_of(versions);
    bool has_older = versions->count > (newest != NULL ? 1 : 0);

    if (versions->count == 0)
        return S3_DONE;
    return aim->is_rewrite ? next_of_rewriting(newest, has_older, aim)
                           : next_of_deletion(newest, has_older, aim);
}
