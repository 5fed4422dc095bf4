/* Requests to a bucket: see s3_remote.h. */
#include "storage/objects/s3_remote.h"

#include "core/base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

enum weir_status storage_s3_remote_open(const struct s3_source *source,
                                        struct s3_remote *ret_remote, struct weir_error *err)
{
    const char *slashes = strstr(source->endpoint, "://");
    int scheme = (int)(slashes + 3 - source->endpoint);
    size_t size = strcspn(slashes + 3, "/");
    bool in_host = source->style == S3_STYLE_HOST;
    WEIR_AUTO_BUF bucket = {0};
    struct s3_remote remote = {.region = weir_strdup(source->region)};

    storage_s3_encode(source->bucket, false, &bucket);
    remote.host = weir_format("%s%s%.*s", in_host ? source->bucket : "", in_host ? "." : "",
                              (int)size, slashes + 3);
    remote.base = weir_format("%.*s%s", scheme, source->endpoint, remote.host);
    remote.path = in_host ? weir_strdup("/") : weir_format("/%s/", weir_buf_text(&bucket));
    remote.prefix = weir_strdup(source->prefix);
    remote.name = weir_format("s3://%s/%s", source->bucket, source->prefix);
    if (storage_s3_signer_new(source, &remote.signer, err) != WEIR_OK) {
        storage_s3_remote_close(&remote);
        return err->status;
    }
    *ret_remote = remote;
    return WEIR_OK;
}

void storage_s3_remote_close(struct s3_remote *remote)
{
    free(remote->base);
    free(remote->host);
    free(remote->path);
    free(remote->prefix);
    free(remote->region);
    free(remote->name);
    storage_s3_signer_unref(remote->signer);
    *remote = (struct s3_remote){0};
}

const char *storage_s3_remote_name(const struct s3_remote *remote, const char *key)
{
    size_t prefix = strlen(remote->prefix);
    const char *name = key + prefix;

    if (strncmp(key, remote->prefix, prefix) != 0 || !*name)
        return NULL;
    for (const char *part = name; part != NULL;
         part = strchr(part, '/') != NULL ? strchr(part, '/') + 1 : NULL) {
        size_t size = strcspn(part, "/");

        if (size == 0 || size > NAME_MAX || strncmp(part, ".", size) == 0 ||
            strncmp(part, "..", size > 2 ? size : 2) == 0)
            return NULL;
    }
    return name;
}

/* ---- requests ---- */

/* Completes a request to a path of the store. */
static void put(const struct s3_remote *remote, const char *path, struct s3_request *request,
                struct s3_signed_request *ret_request)
{
    request->host = remote->host;
    request->region = remote->region;
    request->path = path;
    if (request->query == NULL)
        request->query = "";
    storage_s3_signer_put(remote->signer, remote->base, request, ret_request);
}

static void put_to_bucket(const struct s3_remote *remote, struct weir_buf *query,
                          struct s3_signed_request *ret_request)
{
    size_t size = strlen(remote->path);
    WEIR_AUTO_FREE char *path = weir_strndup(remote->path, size > 1 ? size - 1 : size);
    struct s3_request request = {.method = "GET", .query = weir_buf_text(query)};

    put(remote, path, &request, ret_request);
}

static void put_to_object(const struct s3_remote *remote, const char *key,
                          struct s3_request *request, struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF path = {0};

    weir_buf_append_text(&path, remote->path);
    storage_s3_encode(key, true, &path);
    put(remote, weir_buf_text(&path), request, ret_request);
}

void storage_s3_request_list(const struct s3_remote *remote, const char *token,
                             struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF query = {0};

    if (token != NULL) {
        weir_buf_append_text(&query, "continuation-token=");
        storage_s3_encode(token, false, &query);
        weir_buf_append_text(&query, "&");
    }
    weir_buf_append_text(&query, "encoding-type=url&list-type=2&prefix=");
    storage_s3_encode(remote->prefix, false, &query);
    put_to_bucket(remote, &query, ret_request);
}

void storage_s3_request_piece(const struct s3_remote *remote, const struct s3_piece *piece,
                              struct s3_signed_request *ret_request)
{
    WEIR_AUTO_FREE char *range = weir_format("bytes=%" PRIu64 "-%" PRIu64, piece->from, piece->to);
    struct s3_request request = {.method = "GET", .range = range, .if_match = piece->etag};

    put_to_object(remote, piece->key, &request, ret_request);
}

void storage_s3_request_versions(const struct s3_remote *remote, const char *key,
                                 struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF query = {0};

    weir_buf_append_text(&query, "encoding-type=url&prefix=");
    storage_s3_encode(key, false, &query);
    weir_buf_append_text(&query, "&versions=");
    put_to_bucket(remote, &query, ret_request);
}

void storage_s3_request_delete(const struct s3_remote *remote, const char *key, const char *version,
                               struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF query = {0};
    struct s3_request request = {.method = "DELETE"};

    weir_buf_append_text(&query, *version ? "versionId=" : "");
    storage_s3_encode(version, false, &query);
    request.query = weir_buf_text(&query);
    put_to_object(remote, key, &request, ret_request);
}

void storage_s3_request_lock(const struct s3_remote *remote, const char *key, const char *version,
                             struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF query = {0};
    struct s3_request request = {.method = "GET"};

    weir_buf_append_text(&query, "retention=");
    weir_buf_append_text(&query, *version ? "&versionId=" : "");
    storage_s3_encode(version, false, &query);
    request.query = weir_buf_text(&query);
    put_to_object(remote, key, &request, ret_request);
}

void storage_s3_request_write(const struct s3_remote *remote, const struct s3_writing *writing,
                              struct s3_signed_request *ret_request)
{
    struct s3_request request = {.method = "PUT",
                                 .if_match = writing->etag,
                                 .sha256 = writing->sha256,
                                 .also = writing->also};

    put_to_object(remote, writing->key, &request, ret_request);
}
