/* A page of a bucket's listing (ListObjectsV2 or ListObjectVersions, with encoding-type=url), out
 * of the XML that an object store answers. Pure; bounded by the size of the answer. */
#ifndef WEIR_STORAGE_S3_LIST_H
#define WEIR_STORAGE_S3_LIST_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/memory.h"

enum {
    S3_PAGE_KEYS_MAX = 1000,
    S3_PAGE_BYTES_MAX = 8 << 20,
    S3_KEY_MAX = 1024,
    S3_ETAG_MAX = 128,
    S3_VERSION_ID_MAX = 1024
};

struct s3_object {
    const char *key;
    const char *etag; /* with its quotes */
    uint64_t size;
    int64_t modified_us;
};

struct s3_page {
    struct s3_object *objects; /* in bytewise order of their keys */
    size_t count;
    const char *next; /* token of the page that follows; NULL: this is the last */
};

/* Everything in the page lives in `arena`. CORRUPT "found …, expected …" for anything but such a page. */
enum weir_status storage_s3_page_read(struct weir_bytes xml, struct weir_arena *arena,
                                      struct s3_page *ret_page,
                                      struct weir_error *err) WEIR_MUST_USE;
/* A version of a key, past or present. */
struct s3_version {
    const char *id;   /* "" in a store that has none, "null" of one written before there were any */
    const char *etag; /* NULL: a delete marker */
    int64_t modified_us; /* 0 when the store does not tell */
    bool is_latest;
};

struct s3_versions {
    struct s3_version *at; /* delete markers after the others */
    size_t count;          /* S3_PAGE_KEYS_MAX at most */
};

/* The versions of `key` that are in the first page of a listing of them (ListObjectVersions, with
 * encoding-type=url and the key as prefix, so that the key's own come first). CORRUPT like storage_s3_page_read(). */
enum weir_status storage_s3_versions_read(struct weir_bytes xml, const char *key,
                                          struct weir_arena *arena,
                                          struct s3_versions *ret_versions,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Until when an answered GetObjectRetention keeps a version from being deleted; false when it is none. */
bool storage_s3_lock_read(struct weir_bytes xml, struct weir_arena *arena, int64_t *ret_until_us);
/* The <Code> of an error that an object store answers, or "" ; `code` holds 64 characters. */
void storage_s3_error_code(struct weir_bytes xml, char code[64]);

#endif
