/* Requests to a bucket: see s3_remote.h. */
#include "storage/objects/s3_remote.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/service/credentials.h"

#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { CREDENTIALS_BYTES_MAX = 4096 };

/* ---- credentials ---- */

static enum weir_status from_environment(const char *name, char **ret_value, struct weir_error *err)
{
    const char *value = getenv(name);

    if (value == NULL || !*value)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "environment variable %s is not set: it holds what the object store asks "
                         "for; or name a file in `credentials` of the system file",
                         name);
    *ret_value = weir_strdup(value);
    return WEIR_OK;
}

/* Two lines: the key's id, the secret. */
static enum weir_status from_file(const char *path, struct s3_credentials *credentials,
                                  struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    const char *line;
    enum weir_status status = weir_file_read(path, CREDENTIALS_BYTES_MAX, &text, err);

    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "credentials");
    line = weir_buf_text(&text);
    credentials->key_id = weir_strndup(line, strcspn(line, "\r\n"));
    line += strcspn(line, "\n");
    line += *line == '\n';
    credentials->secret = weir_strndup(line, strcspn(line, "\r\n"));
    sodium_memzero(text.at, text.size);
    if (*credentials->key_id && *credentials->secret)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s: expected two lines: the id of the key, and its secret",
                     path);
}

static enum weir_status read_declared(const struct weir_credentials *declared,
                                      struct s3_credentials *credentials, struct weir_error *err)
{
    enum weir_status status;

    if (declared->file != NULL)
        return from_file(declared->file, credentials, err);
    status = from_environment(declared->key_id_env, &credentials->key_id, err);
    return status == WEIR_OK ? from_environment(declared->secret_env, &credentials->secret, err)
                             : status;
}

/* Looked up each time: the system file may be another one since the data set was declared. */
static enum weir_status read_credentials(const struct s3_source *source,
                                         struct s3_credentials *credentials, struct weir_error *err)
{
    struct weir_credentials declared = {0};
    enum weir_status status =
        weir_credentials_find(source->credentials, source->endpoint, &declared, err);

    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "credentials");
    if (declared.document == NULL)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "credentials '%s': storage was started without knowing of any",
                         source->credentials);
    status = read_declared(&declared, credentials, err);
    weir_credentials_fini(&declared);
    return status;
}

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
    if (read_credentials(source, &remote.credentials, err) != WEIR_OK) {
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
    free(remote->credentials.key_id);
    if (remote->credentials.secret != NULL)
        sodium_memzero(remote->credentials.secret, strlen(remote->credentials.secret));
    free(remote->credentials.secret);
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

void storage_s3_signed_request_fini(struct s3_signed_request *request)
{
    free(request->url);
    for (size_t i = 0; i < request->header_count; i++)
        free(request->headers[i]);
    *request = (struct s3_signed_request){0};
}

static void add_header(struct s3_signed_request *request, const char *name, const char *value)
{
    weir_require(request->header_count + 1 < S3_HEADERS_MAX);
    request->headers[request->header_count++] = weir_format("%s: %s", name, value);
}

static void sign(const struct s3_remote *remote, const struct s3_request *request,
                 struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF authorization = {0};

    storage_s3_authorization(request, &remote->credentials, &authorization);
    *ret_request =
        (struct s3_signed_request){.url = weir_format("%s%s%s%s", remote->base, request->path,
                                                      *request->query ? "?" : "", request->query)};
    add_header(ret_request, "Host", request->host);
    if (request->if_match != NULL)
        add_header(ret_request, "If-Match", request->if_match);
    if (request->range != NULL)
        add_header(ret_request, "Range", request->range);
    add_header(ret_request, "x-amz-content-sha256", storage_s3_body_sha256(request));
    add_header(ret_request, "x-amz-date", request->date);
    add_header(ret_request, "Authorization", weir_buf_text(&authorization));
    for (const char *const *also = request->also; also != NULL && *also; also++) {
        weir_require(ret_request->header_count + 1 < S3_HEADERS_MAX);
        ret_request->headers[ret_request->header_count++] = weir_strdup(*also);
    }
}

/* Signs a request to a path of the store, which is to leave now. */
static void sign_at(const struct s3_remote *remote, const char *path, struct s3_request *request,
                    int64_t now_us, struct s3_signed_request *ret_request)
{
    request->host = remote->host;
    request->region = remote->region;
    request->path = path;
    if (request->query == NULL)
        request->query = "";
    storage_s3_date(now_us, request->date);
    sign(remote, request, ret_request);
}

static void sign_for_bucket(const struct s3_remote *remote, struct weir_buf *query, int64_t now_us,
                            struct s3_signed_request *ret_request)
{
    size_t size = strlen(remote->path);
    WEIR_AUTO_FREE char *path = weir_strndup(remote->path, size > 1 ? size - 1 : size);
    struct s3_request request = {.method = "GET", .query = weir_buf_text(query)};

    sign_at(remote, path, &request, now_us, ret_request);
}

static void sign_for_object(const struct s3_remote *remote, const char *key,
                            struct s3_request *request, int64_t now_us,
                            struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF path = {0};

    weir_buf_append_text(&path, remote->path);
    storage_s3_encode(key, true, &path);
    sign_at(remote, weir_buf_text(&path), request, now_us, ret_request);
}

void storage_s3_request_list(const struct s3_remote *remote, const char *token, int64_t now_us,
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
    sign_for_bucket(remote, &query, now_us, ret_request);
}

void storage_s3_request_piece(const struct s3_remote *remote, const struct s3_piece *piece,
                              int64_t now_us, struct s3_signed_request *ret_request)
{
    WEIR_AUTO_FREE char *range = weir_format("bytes=%" PRIu64 "-%" PRIu64, piece->from, piece->to);
    struct s3_request request = {.method = "GET", .range = range, .if_match = piece->etag};

    sign_for_object(remote, piece->key, &request, now_us, ret_request);
}

void storage_s3_request_versions(const struct s3_remote *remote, const char *key, int64_t now_us,
                                 struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF query = {0};

    weir_buf_append_text(&query, "encoding-type=url&prefix=");
    storage_s3_encode(key, false, &query);
    weir_buf_append_text(&query, "&versions=");
    sign_for_bucket(remote, &query, now_us, ret_request);
}

void storage_s3_request_delete(const struct s3_remote *remote, const char *key, const char *version,
                               int64_t now_us, struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF query = {0};
    struct s3_request request = {.method = "DELETE"};

    weir_buf_append_text(&query, *version ? "versionId=" : "");
    storage_s3_encode(version, false, &query);
    request.query = weir_buf_text(&query);
    sign_for_object(remote, key, &request, now_us, ret_request);
}

void storage_s3_request_lock(const struct s3_remote *remote, const char *key, const char *version,
                             int64_t now_us, struct s3_signed_request *ret_request)
{
    WEIR_AUTO_BUF query = {0};
    struct s3_request request = {.method = "GET"};

    weir_buf_append_text(&query, "retention=");
    weir_buf_append_text(&query, *version ? "&versionId=" : "");
    storage_s3_encode(version, false, &query);
    request.query = weir_buf_text(&query);
    sign_for_object(remote, key, &request, now_us, ret_request);
}

void storage_s3_request_write(const struct s3_remote *remote, const struct s3_writing *writing,
                              int64_t now_us, struct s3_signed_request *ret_request)
{
    struct s3_request request = {.method = "PUT",
                                 .if_match = writing->etag,
                                 .sha256 = writing->sha256,
                                 .also = writing->also};

    sign_for_object(remote, writing->key, &request, now_us, ret_request);
}
