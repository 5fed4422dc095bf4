/* An object fetched into a file: in pieces, all under the ETag of its listing, so that the file is there whole or not
 * at all. One that holds the same bytes as the file that is there leaves that as it is. One at a time. */
#ifndef WEIR_STORAGE_S3_FETCH_H
#define WEIR_STORAGE_S3_FETCH_H

#include "storage/objects/s3_list.h"
#include "storage/objects/s3_remote.h"
#include "storage/objects/s3_transport.h"

enum { S3_PIECE_BYTES = 8 << 20 };

struct s3_fetch;

/* `incoming` is where files lie until they are whole; it is given away. */
struct s3_fetch *storage_s3_fetch_new(struct s3_transport *transport, char **incoming);
void storage_s3_fetch_free(struct s3_fetch *fetch);
/* Forgets what is under way. */
void storage_s3_fetch_drop(struct s3_fetch *fetch);
bool storage_s3_fetch_is_idle(const struct s3_fetch *fetch);

struct s3_fetch_job {
    const struct s3_remote *remote;
    const struct s3_object *object; /* both live until it is done */
    char *path;                     /* given away */
};

enum s3_fetched {
    S3_FETCHED,
    S3_FETCHED_OTHER,  /* it is another object by now, or gone */
    S3_FETCHED_NOTHING /* why */
};
typedef void s3_fetched_fn(void *owner, const struct s3_object *object, enum s3_fetched what,
                           const char *why);

/* `done` is called once, never from inside. */
void storage_s3_fetch_begin(struct s3_fetch *fetch, struct s3_fetch_job *job, s3_fetched_fn *done,
                            void *owner);

#endif
