/* The mirror of one bucket: shared by s3_mirror.c, which goes over the bucket pass by pass, s3_mirror_known.c, which
 * compares pages of its listing with what is known, and s3_mirror_shells.c, which keeps files for objects that stay
 * where they are. */
#ifndef WEIR_STORAGE_S3_MIRROR_STATE_H
#define WEIR_STORAGE_S3_MIRROR_STATE_H

#include "storage/objects/s3_cache.h"
#include "storage/objects/s3_call.h"
#include "storage/objects/s3_list.h"
#include "storage/objects/s3_mirror.h"
#include "storage/objects/s3_remote.h"

struct s3_fetch;

struct mirror {
    struct mirrors *mirrors;
    uint32_t dataset;
    char *root; /* where files lie */
    int64_t every_ms;
    struct s3_remote remote;
    struct s3_call *listing;
    struct s3_fetch **fetches; /* under way at the same time */
    size_t fetch_count;
    uint64_t timer;

    bool is_resting;  /* until the timer */
    bool is_complete; /* a pass has come to its end */
    bool has_changed; /* files, in this pass */
    bool has_skipped; /* objects, in this pass */
    char *trouble;

    struct weir_arena *arena; /* of the page at hand */
    struct s3_page page;
    char *after;  /* key up to which this pass has come; "" at first */
    size_t *todo; /* objects of the page that are to be fetched, or get shells */
    size_t todo_count, at_todo;
    char **written; /* keys of objects that an erasure has written since the page was asked for */
    size_t written_count, written_capacity;
};

struct mirrors {
    struct store *store;
    struct s3_cache *cache;
    storage_mirrored_fn *mirrored;
    void *owner;
    struct mirror **at;
    size_t count;
};

static inline struct dataset *s3_mirror_dataset(const struct mirror *mirror)
{
    return storage_catalog_at(mirror->mirrors->store->catalog, mirror->dataset);
}

static inline struct weir_db *s3_mirror_db(const struct mirror *mirror)
{
    return mirror->mirrors->store->db;
}

/* s3_mirror_known.c */
/* An object where it would lie below the root, or NULL: it is no file there. */
const char *storage_s3_mirror_name(const struct mirror *mirror, const char *key);
/* Path of the object's file, in the caller's memory. */
char *storage_s3_mirror_path(const struct mirror *mirror, const char *key) WEIR_MUST_USE;
/* The file at `path` is the object as it is listed. */
bool storage_s3_mirror_was_fetched(const char *path, const struct s3_object *object);
bool storage_s3_mirror_gets_shell(const struct mirror *mirror, const struct s3_object *object);
/* Drops the ranges that were read of an object which has become another one. */
void storage_s3_mirror_forget_ranges(const struct mirror *mirror, const char *key);
/* The object is known as it is listed. */
enum weir_status storage_s3_mirror_remember(struct mirror *mirror, const struct s3_object *object,
                                            struct weir_error *err) WEIR_MUST_USE;
/* The page at hand with what is known: what is gone is removed, what is new or another one is `todo`. */
enum weir_status storage_s3_mirror_compare(struct mirror *mirror,
                                           struct weir_error *err) WEIR_MUST_USE;

/* True when an erasure has written the object since the page was asked for: what is listed of it may be older than what
 * is known, and the next pass shows it. */
bool storage_s3_mirror_was_written(const struct mirror *mirror, const char *key);
void storage_s3_mirror_forget_written(struct mirror *mirror);

/* s3_mirror_shells.c */
/* The next of `todo`. Before an object counts as another one: is it what an erasure wrote? Then shells, then what is
 * fetched. */
void storage_s3_mirror_check_next(struct mirror *mirror);

/* s3_mirror.c */
/* Objects of `todo` in the order of keys, several at a time; the next page when all are there. */
void storage_s3_mirror_fetch_next(struct mirror *mirror);
/* The next pass begins again; what was fetched is there. */
void storage_s3_mirror_fail_pass(struct mirror *mirror, const char *why);

#endif
