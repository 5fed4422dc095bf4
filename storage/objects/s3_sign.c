/* Signing: see s3_sign.h. */
#include "storage/objects/s3_sign.h"

#include "core/base/error.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAY_TEXT = 8 };

static const char ALGORITHM[] = "AWS4-HMAC-SHA256";
static const char UNSIGNED[] = "UNSIGNED-PAYLOAD"; /* in place of the SHA-256 of a body */

void storage_s3_date(int64_t time_us, char date[S3_DATE_TEXT])
{
    time_t seconds = (time_t)(time_us / 1000000);
    struct tm fields;

    gmtime_r(&seconds, &fields);
    strftime(date, S3_DATE_TEXT, "%Y%m%dT%H%M%SZ", &fields);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("-_.~", c) != NULL;
}

void storage_s3_encode(const char *text, bool keeps_slashes, struct weir_buf *out)
{
    for (; *text; text++) {
        if (is_plain(*text) || (*text == '/' && keeps_slashes))
            weir_buf_append(out, text, 1);
        else
            weir_buf_printf(out, "%%%02X", (unsigned)(uint8_t)*text);
    }
}

/* Headers that are signed, in the order of their names. */
struct signed_header {
    const char *name;
    size_t name_size;
    const char *value;
};
struct signed_headers {
    struct signed_header at[S3_ALSO_MAX + 6];
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    const struct signed_header *x = a, *y = b;
    size_t size = x->name_size < y->name_size ? x->name_size : y->name_size;
    int order = memcmp(x->name, y->name, size);

    return order != 0 ? order : (x->name_size > y->name_size) - (x->name_size < y->name_size);
}

static void add(struct signed_headers *headers, const char *name, const char *value)
{
    headers->at[headers->count++] =
        (struct signed_header){.name = name, .name_size = strcspn(name, ":"), .value = value};
}

static void list_headers(const struct s3_request *request, const struct s3_credentials *credentials,
                         struct signed_headers *headers)
{
    headers->count = 0;
    add(headers, "host", request->host);
    if (request->if_match != NULL)
        add(headers, "if-match", request->if_match);
    if (request->range != NULL)
        add(headers, "range", request->range);
    if (!request->in_query) {
        add(headers, "x-amz-content-sha256", storage_s3_body_sha256(request));
        add(headers, "x-amz-date", request->date);
    }
    if (!request->in_query && credentials->token != NULL)
        add(headers, "x-amz-security-token", credentials->token);
    for (const char *const *also = request->also; also != NULL && *also; also++) {
        weir_require(headers->count < WEIR_COUNT(headers->at));
        add(headers, *also, *also + strcspn(*also, ":") + 1);
    }
    qsort(headers->at, headers->count, sizeof(*headers->at), by_name);
}

static void append_names(const struct signed_headers *headers, const char *between,
                         struct weir_buf *out)
{
    for (size_t i = 0; i < headers->count; i++)
        weir_buf_printf(out, "%s%.*s", i > 0 ? between : "", (int)headers->at[i].name_size,
                        headers->at[i].name);
}

/* The day, region and service that a signature is for. */
static void append_scope(const struct s3_request *request, const char *slash, struct weir_buf *out)
{
    weir_buf_printf(out, "%.*s%s%s%ss3%saws4_request", DAY_TEXT, request->date, slash,
                    request->region, slash, slash);
}

/* Without spaces around it, and with single ones in it. */
static void append_value(const char *value, struct weir_buf *out)
{
    while (*value == ' ')
        value++;
    for (; *value; value++) {
        if (*value != ' ' || (value[1] != ' ' && value[1] != '\0'))
            weir_buf_append(out, value, 1);
    }
}

const char *storage_s3_body_sha256(const struct s3_request *request)
{
    return request->sha256 != NULL ? request->sha256 : S3_EMPTY_SHA256;
}

static void append_canonical(const struct s3_request *request,
                             const struct s3_credentials *credentials, struct weir_buf *out)
{
    struct signed_headers headers;

    list_headers(request, credentials, &headers);
    weir_buf_printf(out, "%s\n%s\n%s\n", request->method, request->path, request->query);
    for (size_t i = 0; i < headers.count; i++) {
        weir_buf_printf(out, "%.*s:", (int)headers.at[i].name_size, headers.at[i].name);
        append_value(headers.at[i].value, out);
        weir_buf_append_text(out, "\n");
    }
    weir_buf_append_text(out, "\n");
    append_names(&headers, ";", out);
    weir_buf_printf(out, "\n%s", request->in_query ? UNSIGNED : storage_s3_body_sha256(request));
}

static void hmac(const uint8_t *key, size_t key_size, const char *text, uint8_t out[32])
{
    crypto_auth_hmacsha256_state state;

    crypto_auth_hmacsha256_init(&state, key, key_size);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)text, strlen(text));
    crypto_auth_hmacsha256_final(&state, out);
}

void storage_s3_signing_key(const struct s3_request *request,
                            const struct s3_credentials *credentials,
                            struct s3_signing_key *ret_key)
{
    WEIR_AUTO_BUF secret = {0};
    char day[DAY_TEXT + 1] = {0};
    uint8_t *key = ret_key->at;

    memcpy(day, request->date, DAY_TEXT);
    weir_buf_printf(&secret, "AWS4%s", credentials->secret);
    hmac(secret.at, secret.size, day, key);
    hmac(key, sizeof(ret_key->at), request->region, key);
    hmac(key, sizeof(ret_key->at), "s3", key);
    hmac(key, sizeof(ret_key->at), "aws4_request", key);
    sodium_memzero(secret.at, secret.size);
}

void storage_s3_signature(const struct s3_request *request,
                          const struct s3_credentials *credentials,
                          const struct s3_signing_key *key, uint8_t signature[S3_SIGNATURE_BYTES])
{
    WEIR_AUTO_BUF canonical = {0};
    WEIR_AUTO_BUF to_sign = {0};
    uint8_t hash[32];
    char hex[sizeof(hash) * 2 + 1];

    append_canonical(request, credentials, &canonical);
    crypto_hash_sha256(hash, canonical.at, canonical.size);
    weir_hex(hash, sizeof(hash), hex);
    weir_buf_printf(&to_sign, "%s\n%s\n", ALGORITHM, request->date);
    append_scope(request, "/", &to_sign);
    weir_buf_printf(&to_sign, "\n%s", hex);
    hmac(key->at, sizeof(key->at), weir_buf_text(&to_sign), signature);
}

void storage_s3_authorization(const struct s3_request *request,
                              const struct s3_credentials *credentials, struct weir_buf *out)
{
    uint8_t signature[S3_SIGNATURE_BYTES];
    char hex[S3_SIGNATURE_TEXT];
    struct s3_signing_key key;
    struct signed_headers headers;

    storage_s3_signing_key(request, credentials, &key);
    storage_s3_signature(request, credentials, &key, signature);
    sodium_memzero(&key, sizeof(key));
    weir_hex(signature, sizeof(signature), hex);
    list_headers(request, credentials, &headers);
    weir_buf_printf(out, "%s Credential=%s/", ALGORITHM, credentials->key_id);
    append_scope(request, "/", out);
    weir_buf_append_text(out, ",SignedHeaders=");
    append_names(&headers, ";", out);
    weir_buf_printf(out, ",Signature=%s", hex);
}

/* In the order of their names, which is part of what is signed. */
void storage_s3_query(const struct s3_request *request, const struct s3_credentials *credentials,
                      unsigned expires_s, struct weir_buf *out)
{
    struct signed_headers headers;

    list_headers(request, credentials, &headers);
    weir_buf_printf(out, "X-Amz-Algorithm=%s&X-Amz-Credential=", ALGORITHM);
    storage_s3_encode(credentials->key_id, false, out);
    weir_buf_append_text(out, "%2F");
    append_scope(request, "%2F", out);
    weir_buf_printf(out, "&X-Amz-Date=%s&X-Amz-Expires=%u", request->date, expires_s);
    if (credentials->token != NULL) {
        weir_buf_append_text(out, "&X-Amz-Security-Token=");
        storage_s3_encode(credentials->token, false, out);
    }
    weir_buf_append_text(out, "&X-Amz-SignedHeaders=");
    append_names(&headers, "%3B", out);
}
