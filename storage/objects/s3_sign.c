/* Signing: see s3_sign.h. */
#include "storage/objects/s3_sign.h"

#include <sodium.h>
#include <string.h>
#include <time.h>

enum { DAY_TEXT = 8 };

void s3_date(int64_t time_us, char date[S3_DATE_TEXT])
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

void s3_encode(const char *text, bool keeps_slashes, struct weir_buf *out)
{
    for (; *text; text++) {
        if (is_plain(*text) || (*text == '/' && keeps_slashes))
            weir_buf_append(out, text, 1);
        else
            weir_buf_printf(out, "%%%02X", (unsigned)(uint8_t)*text);
    }
}

static const char *signed_headers(const struct s3_request *request)
{
    static const char *const NAMES[2][2] = {
        {"host;x-amz-content-sha256;x-amz-date", "host;range;x-amz-content-sha256;x-amz-date"},
        {"host;if-match;x-amz-content-sha256;x-amz-date",
         "host;if-match;range;x-amz-content-sha256;x-amz-date"},
    };

    return NAMES[request->if_match != NULL][request->range != NULL];
}

const char *s3_body_sha256(const struct s3_request *request)
{
    return request->sha256 ? request->sha256 : S3_EMPTY_SHA256;
}

static void append_canonical(const struct s3_request *request, struct weir_buf *out)
{
    const char *sha256 = s3_body_sha256(request);

    weir_buf_printf(out, "%s\n%s\n%s\nhost:%s\n", request->method, request->path, request->query,
                    request->host);
    if (request->if_match)
        weir_buf_printf(out, "if-match:%s\n", request->if_match);
    if (request->range)
        weir_buf_printf(out, "range:%s\n", request->range);
    weir_buf_printf(out, "x-amz-content-sha256:%s\nx-amz-date:%s\n\n%s\n%s", sha256, request->date,
                    signed_headers(request), sha256);
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

void s3_signature(const struct s3_request *request, const struct s3_credentials *credentials,
                  char signature[S3_SIGNATURE_TEXT])
{
    WEIR_AUTO_BUF canonical = {0};
    WEIR_AUTO_BUF to_sign = {0};
    uint8_t hash[32], key[32];
    char hex[S3_SIGNATURE_TEXT];

    append_canonical(request, &canonical);
    crypto_hash_sha256(hash, canonical.at, canonical.size);
    weir_hex(hash, sizeof hash, hex);
    weir_buf_printf(&to_sign, "AWS4-HMAC-SHA256\n%s\n%.*s/%s/s3/aws4_request\n%s", request->date,
                    DAY_TEXT, request->date, request->region, hex);
    signing_key(request, credentials, key);
    hmac(key, sizeof key, weir_buf_text(&to_sign), hash);
    weir_hex(hash, sizeof hash, signature);
    sodium_memzero(key, sizeof key);
}

void s3_authorization(const struct s3_request *request, const struct s3_credentials *credentials,
                      struct weir_buf *out)
{
    char signature[S3_SIGNATURE_TEXT];

    s3_signature(request, credentials, signature);
    weir_buf_printf(out,
                    "AWS4-HMAC-SHA256 Credential=%s/%.*s/%s/s3/aws4_request,SignedHeaders=%s,"
                    "Signature=%s",
                    credentials->key_id, DAY_TEXT, request->date, request->region,
                    signed_headers(request), signature);
}
