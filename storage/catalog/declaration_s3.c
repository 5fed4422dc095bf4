/* Reading `source.s3`: see declaration_s3.h. */
#include "storage/catalog/declaration_s3.h"

#include "core/base/memory.h"
#include "core/service/credentials.h"

#include <stdlib.h>
#include <string.h>

static const char *const STYLES[] = {"path", "host", NULL};

const struct cfg_key STORAGE_S3_KEYS[] = {
    CFG_TEXT(struct s3_source, endpoint, .required = true,
             .doc = "URL of the store: https://HOST, or http://HOST:PORT of this host"),
    CFG_TEXT(struct s3_source, bucket, .required = true, .doc = "its name"),
    CFG_TEXT(struct s3_source, prefix, .fallback = "",
             .doc = "objects below it count; ends in a slash"),
    CFG_TEXT(struct s3_source, region, .fallback = "us-east-1", .doc = "part of the signature"),
    CFG_CHOICE(struct s3_source, style, .choices = STYLES, .fallback = "path",
               .doc = "path: ENDPOINT/BUCKET/KEY; host: BUCKET.ENDPOINT/KEY"),
    CFG_TEXT(struct s3_source, credentials, .fallback = WEIR_CREDENTIALS_ENVIRONMENT,
             .doc = "name of the key, one of `credentials` of the system file"),
    CFG_DURATION(struct s3_source, every, .fallback = "30s", .min = 1e5, .max = 86400e6,
                 .doc = "pause between two listings of the bucket"),
    CFG_U64(struct s3_source, transfers, .fallback = "4", .min = 1, .max = 64,
            .doc = "pieces of objects, 8 MiB at most, that are fetched at the same time"),
    CFG_END,
};

static const char IN_HOST_NAMES[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

/* Pipelines once named secrets by themselves, and so could have any variable or file sent to any host. Data sets that
 * were declared so are still known. */
struct former_keys {
    const char *key_id_env, *secret_env;
};

struct s3_section {
    struct s3_source s3;
    struct former_keys former;
};

static const struct cfg_key FORMER_KEYS[] = {
    CFG_TEXT(struct former_keys, key_id_env, .doc = ""),
    CFG_TEXT(struct former_keys, secret_env, .doc = ""),
    CFG_END,
};

static enum weir_status read_keys(struct declaration *d, const char *path, struct weir_error *err)
{
    struct s3_section section = {0};
    WEIR_AUTO_FREE struct cfg_key *keys =
        cfg_join(STORAGE_S3_KEYS, FORMER_KEYS, offsetof(struct s3_section, former));
    enum weir_status status = cfg_read(keys, CFG_CLOSED, d->source.s3, path, NULL, &section, err);

    if (status != WEIR_OK)
        return status;
    d->s3 = section.s3;
    d->s3.names_secret = section.former.key_id_env != NULL || section.former.secret_env ||
                         strchr(d->s3.credentials, '/') != NULL;
    if (d->s3.names_secret)
        d->s3.credentials = WEIR_CREDENTIALS_ENVIRONMENT;
    return WEIR_OK;
}

static bool is_this_host(const char *host)
{
    static const char *const NAMES[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++) {
        size_t size = strlen(NAMES[i]);

        if (strncmp(host, NAMES[i], size) == 0 && strchr(":/", host[size]) != NULL)
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
    if (!*s3->bucket || strpbrk(s3->bucket, "/?# ") != NULL)
        return weir_yaml_fail(weir_yaml_get(node, "bucket"), err,
                              "%s.bucket: found '%s', expected the name of a bucket", path,
                              s3->bucket);
    if (s3->style == S3_STYLE_HOST && strspn(s3->bucket, IN_HOST_NAMES) != strlen(s3->bucket))
        return weir_yaml_fail(weir_yaml_get(node, "bucket"), err,
                              "%s.bucket: found '%s', expected letters, digits, dots and dashes: "
                              "with style: host it is part of a host name",
                              path, s3->bucket);
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

    if (d->source.s3 == NULL)
        return WEIR_OK;
    if (d->source.path != NULL || d->source.push)
        return weir_yaml_fail(node, err, "%s: expected s3 without path or push", path);
    status = read_keys(d, below, err);
    if (status == WEIR_OK)
        status = check(&d->s3, below, d->source.s3, err);
    d->is_mirrored = status == WEIR_OK;
    d->is_remote = d->is_mirrored && d->source.import == 0;
    return status;
}

enum weir_status storage_s3_check_credentials(const struct declaration *d, const char *dataset,
                                              struct weir_error *err)
{
    const struct weir_yaml_node *named = weir_yaml_get(d->source.s3, "credentials");
    struct weir_credentials found = {0};
    struct weir_error why;
    enum weir_status status;

    if (d->source.s3 == NULL)
        return WEIR_OK;
    if (d->s3.names_secret)
        return weir_yaml_fail(d->source.s3, err,
                              "%s.source.s3: found a secret's variable or file, expected the name "
                              "of credentials: declare them below `credentials` of the system file "
                              "(docs/guides/object-store.md)",
                              dataset);
    status = weir_credentials_find(d->s3.credentials, d->s3.endpoint, &found, &why);
    weir_credentials_fini(&found);
    if (status == WEIR_OK)
        return WEIR_OK;
    return weir_yaml_fail(named != NULL ? named : d->source.s3, err, "%s.source.s3.credentials: %s",
                          dataset, why.text);
}

void storage_s3_print(const struct declaration *d, struct weir_buf *out)
{
    weir_buf_append_text(out, "      s3:\n");
    cfg_print(STORAGE_S3_KEYS, &d->s3, 8, out);
}
