/* Keys of a bucket, and signing with them: see s3_signer.h. */
#include "storage/objects/s3_signer.h"

#include "core/base/file.h"
#include "core/service/credentials.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { CREDENTIALS_BYTES_MAX = 4096 };

/* ---- declared keys ---- */

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

/* The next line, without its end; "" after the last. */
static char *take_line(const char **text)
{
    char *line = weir_strndup(*text, strcspn(*text, "\r\n"));

    *text += strcspn(*text, "\n");
    *text += **text == '\n';
    return line;
}

/* Lines: the key's id, the secret, the token of a session if it is of one. */
static enum weir_status from_file(const char *path, struct s3_credentials *keys,
                                  struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    const char *rest;
    enum weir_status status = weir_file_read(path, CREDENTIALS_BYTES_MAX, &text, err);

    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "credentials");
    rest = weir_buf_text(&text);
    keys->key_id = take_line(&rest);
    keys->secret = take_line(&rest);
    keys->token = *rest ? take_line(&rest) : NULL;
    sodium_memzero(text.at, text.size);
    if (*keys->key_id && *keys->secret)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s: expected two lines: the id of the key, and its secret",
                     path);
}

static enum weir_status from_variables(const struct weir_credentials *declared,
                                       struct s3_credentials *keys, struct weir_error *err)
{
    const char *token = declared->token_env != NULL ? getenv(declared->token_env) : NULL;
    enum weir_status status = from_environment(declared->key_id_env, &keys->key_id, err);

    if (status == WEIR_OK)
        status = from_environment(declared->secret_env, &keys->secret, err);
    if (status == WEIR_OK && token != NULL && *token)
        keys->token = weir_strdup(token);
    return status;
}

static enum weir_status read_declared(const struct weir_credentials *declared,
                                      struct s3_signer *signer, struct weir_error *err)
{
    signer->may_grant = declared->grants;
    signer->ca = declared->ca != NULL ? weir_strdup(declared->ca) : NULL;
    signer->profile = declared->profile != NULL ? weir_strdup(declared->profile) : NULL;
    signer->is_found = declared->chain || declared->profile != NULL;
    if (signer->is_found)
        return WEIR_OK;
    return declared->file != NULL ? from_file(declared->file, &signer->keys, err)
                                  : from_variables(declared, &signer->keys, err);
}

/* ---- life ---- */

/* Looked up each time: the system file may be another one since the data set was declared. */
enum weir_status storage_s3_signer_new(const struct s3_source *source,
                                       struct s3_signer **ret_signer, struct weir_error *err)
{
    struct weir_credentials declared = {0};
    struct s3_signer *signer;
    enum weir_status status =
        weir_credentials_find(source->credentials, source->endpoint, &declared, err);

    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "credentials");
    if (declared.document == NULL)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "credentials '%s': storage was started without knowing of any",
                         source->credentials);
    signer = weir_calloc(1, sizeof(*signer));
    signer->refs = 1;
    status = read_declared(&declared, signer, err);
    weir_credentials_fini(&declared);
    if (status == WEIR_OK)
        *ret_signer = signer;
    else
        storage_s3_signer_unref(signer);
    return status;
}

void storage_s3_signer_unref(struct s3_signer *signer)
{
    if (signer == NULL || --signer->refs > 0)
        return;
    storage_s3_credentials_fini(&signer->keys);
    storage_s3_authority_fini(&signer->authority);
    free(signer->profile);
    free(signer->ca);
    free(signer);
}

/* ---- requests ---- */

static void drop_headers(struct s3_signed_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        sodium_memzero(request->headers[i], strlen(request->headers[i]));
        free(request->headers[i]);
        request->headers[i] = NULL;
    }
    request->header_count = 0;
}

void storage_s3_signed_request_fini(struct s3_signed_request *request)
{
    free(request->url);
    free(request->key_id);
    drop_headers(request);
    storage_s3_signer_unref(request->signer);
    weir_arena_free(request->arena);
    *request = (struct s3_signed_request){0};
}

static const char *keep(struct weir_arena *arena, const char *text)
{
    return text != NULL ? weir_arena_format(arena, "%s", text) : NULL;
}

static const char *const *keep_all(struct weir_arena *arena, const char *const *texts)
{
    size_t count = 0;
    const char **kept;

    if (texts == NULL)
        return NULL;
    while (texts[count] != NULL)
        count++;
    kept = weir_arena_alloc(arena, (count + 1) * sizeof(*kept));
    for (size_t i = 0; i <= count; i++)
        kept[i] = keep(arena, texts[i]);
    return kept;
}

void storage_s3_signer_put(struct s3_signer *signer, const char *base,
                           const struct s3_request *request, struct s3_signed_request *ret_request)
{
    struct weir_arena *arena = weir_arena_new();

    signer->refs++;
    *ret_request = (struct s3_signed_request){
        .url = weir_format("%s%s%s%s", base, request->path, *request->query ? "?" : "",
                           request->query),
        .signer = signer,
        .arena = arena,
        .request = {.method = keep(arena, request->method),
                    .host = keep(arena, request->host),
                    .path = keep(arena, request->path),
                    .query = keep(arena, request->query),
                    .range = keep(arena, request->range),
                    .if_match = keep(arena, request->if_match),
                    .sha256 = keep(arena, request->sha256),
                    .also = keep_all(arena, request->also),
                    .region = keep(arena, request->region)},
    };
}

static void add_header(struct s3_signed_request *request, const char *name, const char *value)
{
    if (value == NULL)
        return;
    weir_require(request->header_count + 1 < S3_HEADERS_MAX);
    request->headers[request->header_count++] = weir_format("%s: %s", name, value);
}

void storage_s3_request_sign(struct s3_signed_request *signed_request,
                             const struct s3_credentials *keys, int64_t now_us)
{
    struct s3_request *request = &signed_request->request;
    WEIR_AUTO_BUF authorization = {0};

    drop_headers(signed_request);
    free(signed_request->key_id);
    signed_request->key_id = weir_strdup(keys->key_id);
    storage_s3_date(now_us + signed_request->signer->ahead_us, request->date);
    storage_s3_authorization(request, keys, &authorization);
    add_header(signed_request, "Host", request->host);
    add_header(signed_request, "If-Match", request->if_match);
    add_header(signed_request, "Range", request->range);
    add_header(signed_request, "x-amz-content-sha256", storage_s3_body_sha256(request));
    add_header(signed_request, "x-amz-date", request->date);
    add_header(signed_request, "x-amz-security-token", keys->token);
    add_header(signed_request, "Authorization", weir_buf_text(&authorization));
    for (const char *const *also = request->also; also != NULL && *also; also++) {
        weir_require(signed_request->header_count + 1 < S3_HEADERS_MAX);
        signed_request->headers[signed_request->header_count++] = weir_strdup(*also);
    }
}
