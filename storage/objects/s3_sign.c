/* Signing: see s3_sign.h. */
#include "storage/objects/s3_sign.h"

#include "core/base/error.h"
#include "core/base/memory.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAY_TEXT = 8 };

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
    add(headers, "x-amz-content-sha256", storage_s3_body_sha256(request));
    add(headers, "x-amz-date", request->date);
    if (credentials->token != NULL)
        add(headers, "x-amz-security-token", credentials->token);
    for (const char *const *also = request->also; also != NULL && *also; also++) {
        weir_require(headers->count < WEIR_COUNT(headers->at));
        add(headers, *also, *also + strcspn(*also, ":") + 1);
    }
    qsort(headers->at, headers->count, sizeof(*headers->at), by_name);
}

static void append_names(const struct signed_headers *headers, struct weir_buf *out)
{
    for (size_t i = 0; i < headers->count; i++)
        weir_buf_printf(out, "%s%.*s", i > 0 ? ";" : "", (int)headers->at[i].name_size,
                        headers->at[i].name);
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
    append_names(&headers, out);
    weir_buf_printf(out, "\n%s", storage_s3_body_sha256(request));
}

static void hmac(const uint8_t *key, size_t key_size, const char *text, uint8_t out[32])
{
    crypto_auth_hmacsha256_state state;

    crypto_auth_hmacsha256_init(&state, key, key_size);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)text, strlen(text));
    crypto_auth_hmacsha256_final(&state, out);
}

static void signing_key(const struct s3_request *request, const struct s3_credentials *credentials,
                        uint8_t key[32])
{
    WEIR_AUTO_BUF secret = {0};
    char day[DAY_TEXT + 1] = {0};

    memcpy(day, request->date, DAY_TEXT);
    weir_buf_printf(&secret, "AWS4%s", credentials->secret);
    hmac(secret.at, secret.size, day, key);
    hmac(key, 32, request->region, key);
    hmac(key, 32, "s3", key);
    hmac(key, 32, "aws4_request", key);
    sodium_memzero(secret.at, secret.size);
}

void storage_s3_signature(const struct s3_request *request,
                          const struct s3_credentials *credentials,
                          char signature[S3_SIGNATURE_TEXT])
{
    WEIR_AUTO_BUF canonical = {0};
    WEIR_AUTO_BUF to_sign = {0};
    uint8_t hash[32], key[32];
    char hex[S3_SIGNATURE_TEXT];

    append_canonical(request, credentials, &canonical);
    crypto_hash_sha256(hash, canonical.at, canonical.size);
    weir_hex(hash, sizeof(hash), hex);
    weir_buf_printf(&to_sign, "AWS4-HMAC-SHA256\n%s\n%.*s/%s/s3/aws4_request\n%s", request->date,
                    DAY_TEXT, request->date, request->region, hex);
    signing_key(request, credentials, key);
    hmac(key, sizeof(key), weir_buf_text(&to_sign), hash);
    weir_hex(hash, sizeof(hash), signature);
    sodium_memzero(key, sizeof(key));
}

void storage_s3_authorization(const struct s3_request *request,
                              const struct s3_credentials *credentials, struct weir_buf *out)
{
    char signature[S3_SIGNATURE_TEXT];
    struct signed_headers headers;

    storage_s3_signature(request, credentials, signature);
    list_headers(request, credentials, &headers);
    weir_buf_printf(out, "AWS4-HMAC-SHA256 Credential=%s/%.*s/%s/s3/aws4_request,SignedHeaders=",
                    credentials->key_id, DAY_TEXT, request->date, request->region);
    append_names(&headers, out);
    weir_buf_printf(out, ",Signature=%s", signature);
}
