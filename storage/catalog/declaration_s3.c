/* Reading `source.s3`: see declaration_s3.h. */
#include "storage/catalog/declaration_s3.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *const STYLES[] = {"path", "host", NULL};

const struct cfg_key STORAGE_S3_KEYS[] = {
    CFG_TEXT(struct s3_source, endpoint, .required = true,
             .doc = "where it answers: https://HOST, or http://HOST:PORT of this host"),
    CFG_TEXT(struct s3_source, bucket, .required = true, .doc = "its name"),
    CFG_TEXT(struct s3_source, prefix, .fallback = "",
             .doc = "objects below it count; ends in a slash"),
    CFG_TEXT(struct s3_source, region, .fallback = "us-east-1", .doc = "part of the signature"),
    CFG_CHOICE(struct s3_source, style, .choices = STYLES, .fallback = "path",
               .doc = "path: ENDPOINT/BUCKET/KEY; host: BUCKET.ENDPOINT/KEY"),
    CFG_TEXT(struct s3_source, key_id_env, .fallback = "AWS_ACCESS_KEY_ID",
             .doc = "environment variable of the key's id"),
    CFG_TEXT(struct s3_source, secret_env, .fallback = "AWS_SECRET_ACCESS_KEY",
             .doc = "environment variable of its secret"),
    CFG_TEXT(struct s3_source, credentials,
             .doc = "instead of these: a file of two lines, id and secret"),
    CFG_DURATION(struct s3_source, every, .fallback = "30s", .min = 1e5, .max = 86400e6,
                 .doc = "pause between two listings of the bucket"),
    CFG_U64(struct s3_source, transfers, .fallback = "4", .min = 1, .max = 64,
            .doc = "pieces of objects, 8 MiB at most, that are fetched at the same time"),
    CFG_END,
};

static bool is_this_host(const char *host)
{
    static const char *const NAMES[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++) {
        size_t size = strlen(NAMES[i]);

        if (strncmp(host, NAMES[i], size) == 0 && strchr(":/", host[size]))
            return true;
    }
    return false;
}

static enum weir_status check(const struct s3_source *s3, const char *path,
                              const struct weir_yaml_node *node, struct weir_error *err)
{
    size_t size = strlen(s3->prefix);

    if (strncmp(s3->endpoint, "https://", 8) != 0 &&
        !(strncmp(s3->endpoint, "http://", 7) == 0 && is_this_host(s3->endpoint + 7)))
        return weir_yaml_fail(weir_yaml_get(node, "endpoint"), err,
                              "%s.endpoint: found '%s', expected https://HOST: what leaves this "
                              "host is encrypted",
                              path, s3->endpoint);
    if (!*s3->bucket || strpbrk(s3->bucket, "/?# "))
        return weir_yaml_fail(weir_yaml_get(node, "bucket"), err,
                              "%s.bucket: found '%s', expected the name of a bucket", path,
                              s3->bucket);
    if (size > 0 && (s3->prefix[size - 1] != '/' || s3->prefix[0] == '/'))
        return weir_yaml_fail(weir_yaml_get(node, "prefix"), err,
                              "%s.prefix: found '%s', expected it to end in a slash, and not to "
                              "begin with one",
                              path, s3->prefix);
    return WEIR_OK;
}

enum weir_status storage_s3_declared(struct declaration *d, const char *path,
                                     const struct weir_yaml_node *node, struct weir_error *err)
{
    WEIR_AUTO_FREE char *below = weir_format("%s.s3", path);
    enum weir_status status;

    if (!d->source.s3)
        return WEIR_OK;
    if (d->source.path || d->source.push)
        return weir_yaml_fail(node, err, "%s: expected s3 without path or push", path);
    status = cfg_read(STORAGE_S3_KEYS, CFG_CLOSED, d->source.s3, below, NULL, &d->s3, err);
    if (status == WEIR_OK)
        status = check(&d->s3, below, d->source.s3, err);
    d->is_mirrored = status == WEIR_OK;
    d->is_remote = d->is_mirrored && d->source.import == 0;
    return status;
}

void storage_s3_print(const struct declaration *d, struct weir_buf *out)
{
    weir_buf_append_text(out, "      s3:\n");
    cfg_print(STORAGE_S3_KEYS, &d->s3, 8, out);
}
