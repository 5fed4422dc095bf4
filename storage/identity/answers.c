/* Reading keys: see answers.h. */
#include "storage/identity/answers.h"

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/memory.h"

#include <string.h>

/* A time that cannot be read would keep keys for ever. */
static enum weir_status check(const char *who, const char *expires, struct s3_credentials *keys,
                              struct s3_credentials *ret_keys, struct weir_error *err)
{
    const char *missing = keys->key_id == NULL   ? "the id of a key"
                          : keys->secret == NULL ? "a secret"
                                                 : NULL;

    keys->expires_us = INT64_MAX;
    if (missing == NULL && expires != NULL &&
        !weir_time_parse(expires, strlen(expires), &keys->expires_us))
        missing = "an end of them that is a time (RFC 3339)";
    if (missing == NULL) {
        *ret_keys = *keys;
        return WEIR_OK;
    }
    storage_s3_credentials_fini(keys);
    return weir_fail(err, WEIR_INVALID, "%s answers without %s", who, missing);
}

static char *text_of(const struct weir_json *json, size_t name)
{
    struct weir_bytes raw = weir_json_found(json, name), text;
    WEIR_AUTO_BUF unescaped = {0};

    if (raw.at == NULL || raw.size < 2 || raw.at[0] != '"')
        return NULL;
    text = weir_json_unescape(weir_bytes(raw.at + 1, raw.size - 2), &unescaped);
    return text.size > 0 ? weir_strndup((const char *)text.at, text.size) : NULL;
}

enum weir_status storage_identity_read_json(const char *who, struct weir_bytes text,
                                            struct s3_credentials *ret_keys, struct weir_error *err)
{
    static const char *const NAMES[] = {"AccessKeyId", "SecretAccessKey", "SessionToken", "Token",
                                        "Expiration"};
    WEIR_AUTO(weir_json) json = weir_json_new(NAMES, WEIR_COUNT(NAMES));
    struct s3_credentials keys = {0};

    if (!weir_json_read(json, text))
        return weir_fail(err, WEIR_INVALID, "%s answers something that is not JSON", who);
    keys.key_id = text_of(json, 0);
    keys.secret = text_of(json, 1);
    keys.token = text_of(json, 2);
    if (keys.token == NULL)
        keys.token = text_of(json, 3);
    WEIR_AUTO_FREE char *expires = text_of(json, 4);
    return check(who, expires, &keys, ret_keys, err);
}

/* The text of the first element of this name; NULL: there is none. None of those that are read holds what XML
 * escapes. */
static char *element(struct weir_bytes xml, const char *name)
{
    WEIR_AUTO_FREE char *open = weir_format("<%s>", name);
    WEIR_AUTO_FREE char *close = weir_format("</%s>", name);
    const uint8_t *begin = memmem(xml.at, xml.size, open, strlen(open)), *end = NULL;

    if (begin == NULL)
        return NULL;
    begin += strlen(open);
    end = memmem(begin, xml.size - (size_t)(begin - xml.at), close, strlen(close));
    return end != NULL && end > begin ? weir_strndup((const char *)begin, (size_t)(end - begin))
                                      : NULL;
}

enum weir_status storage_identity_read_xml(const char *who, struct weir_bytes text,
                                           struct s3_credentials *ret_keys, struct weir_error *err)
{
    struct s3_credentials keys = {.key_id = element(text, "AccessKeyId"),
                                  .secret = element(text, "SecretAccessKey"),
                                  .token = element(text, "SessionToken")};
    WEIR_AUTO_FREE char *expires = element(text, "Expiration");

    return check(who, expires, &keys, ret_keys, err);
}
