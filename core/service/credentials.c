/* Keys of object stores that data sets may name. */
#include "core/service/credentials.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CREDENTIALS_MAX = 256, HOSTS_MAX = 64 };

static const char VARIABLE[] = "WEIR_CREDENTIALS";
static const char USUAL[] = "AWS_"; /* AWS_ACCESS_KEY_ID, AWS_SESSION_TOKEN, … */
static const char LOCAL[] =
    WEIR_CREDENTIALS_ENVIRONMENT ": {hosts: [\"*\"], token_env: AWS_SESSION_TOKEN}\n";

static const struct cfg_key KEYS[] = {
    CFG_TEXTS(struct weir_credentials, hosts, .required = true,
              .doc = "hosts of endpoints that they may be sent to, HOST or HOST:PORT; \"*\": any"),
    CFG_BOOL(struct weir_credentials, chain, .fallback = "false",
             .doc = "true: found where the SDKs of AWS look: environment, web identity, profile, "
                    "container, instance; renewed before they end"),
    CFG_TEXT(struct weir_credentials, profile,
             .doc = "of a profile of ~/.aws/credentials and ~/.aws/config: its keys, "
                    "credential_process or web identity"),
    CFG_TEXT(struct weir_credentials, file,
             .doc = "absolute path of a file of two lines: the id of the key, its secret; a third "
                    "is the token of a session"),
    CFG_TEXT(struct weir_credentials, key_id_env, .fallback = "AWS_ACCESS_KEY_ID",
             .doc = "without file: environment variable of the id of the key"),
    CFG_TEXT(struct weir_credentials, secret_env, .fallback = "AWS_SECRET_ACCESS_KEY",
             .doc = "without file: environment variable of its secret"),
    CFG_TEXT(struct weir_credentials, token_env,
             .doc = "without file: environment variable of the token of a session, if it is set"),
    CFG_TEXT(struct weir_credentials, ca,
             .doc = "absolute path of certificates (PEM) of the authorities that vouch for these "
                    "hosts; by default those of the system"),
    CFG_BOOL(struct weir_credentials, grants, .fallback = "true",
             .doc = "workers on other hosts read these buckets themselves, by requests that are "
                    "signed for them one by one and end after two seconds; false: storage "
                    "reads for them"),
    CFG_END,
};

/* ---- the section ---- */

static enum weir_status check_hosts(const struct weir_credentials *credentials, const char *name,
                                    struct weir_error *err)
{
    const struct cfg_texts *hosts = &credentials->hosts;
    if (hosts->count == 0 || hosts->count > HOSTS_MAX)
        return weir_yaml_fail(hosts->node, err,
                              "credentials.%s.hosts: found %zu, expected 1 to %d hosts", name,
                              hosts->count, HOSTS_MAX);
    for (size_t i = 0; i < hosts->count; i++) {
        const char *host = weir_yaml_text(weir_yaml_at(hosts->node, i));
        if (host == NULL || host[0] == '\0' || strpbrk(host, "/@?# ") != NULL)
            return weir_yaml_fail(hosts->node, err,
                                  "credentials.%s.hosts[%zu]: found '%s', expected HOST or "
                                  "HOST:PORT, as in s3.us-east-1.amazonaws.com, or \"*\"",
                                  name, i, host != NULL ? host : "");
    }
    return WEIR_OK;
}

/* One way to get at them, and paths that say where they begin. */
static enum weir_status check_ways(const struct weir_credentials *credentials,
                                   const struct weir_yaml_node *node, const char *path,
                                   struct weir_error *err)
{
    bool is_named = weir_yaml_get(node, "key_id_env") != NULL ||
                    weir_yaml_get(node, "secret_env") != NULL || credentials->token_env != NULL;
    int ways = credentials->chain + (credentials->profile != NULL) + (credentials->file != NULL) +
               is_named;
    if (ways > 1)
        return weir_yaml_fail(node, err,
                              "%s: expected one of chain, profile, file and variables (key_id_env, "
                              "secret_env, token_env), found %d",
                              path, ways);
    if (credentials->file != NULL && credentials->file[0] != '/')
        return weir_yaml_fail(weir_yaml_get(node, "file"), err,
                              "%s.file: found '%s', expected an absolute path", path,
                              credentials->file);
    if (credentials->ca != NULL && credentials->ca[0] != '/')
        return weir_yaml_fail(weir_yaml_get(node, "ca"), err,
                              "%s.ca: found '%s', expected an absolute path", path,
                              credentials->ca);
    return WEIR_OK;
}

static enum weir_status read_one(const struct weir_yaml_node *section, size_t index,
                                 struct weir_credentials *ret_credentials, struct weir_error *err)
{
    const struct weir_yaml_node *node = weir_yaml_value(section, index);
    const char *name = weir_yaml_key(section, index);
    WEIR_AUTO_FREE char *path = weir_format("credentials.%s", name);
    enum weir_status status = cfg_read(KEYS, CFG_CLOSED, node, path, NULL, ret_credentials, err);
    if (status == WEIR_OK)
        status = check_hosts(ret_credentials, name, err);
    return status == WEIR_OK ? check_ways(ret_credentials, node, path, err) : status;
}

enum weir_status weir_credentials_check(const struct weir_yaml_node *credentials,
                                        struct weir_error *err)
{
    size_t count = weir_yaml_pairs(credentials);
    if (!weir_yaml_is_mapping_if_any(credentials))
        return weir_yaml_fail(credentials, err, "credentials: expected NAME: {hosts: […], …}");
    if (count > CREDENTIALS_MAX)
        return weir_yaml_fail(credentials, err, "credentials: found %zu, expected at most %d",
                              count, CREDENTIALS_MAX);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_credentials one = {0};
        status = read_one(credentials, i, &one, err);
    }
    return status;
}

void weir_credentials_hand_on(const struct weir_yaml_node *credentials, bool is_local)
{
    WEIR_AUTO_BUF text = {0};
    if (weir_yaml_pairs(credentials) > 0)
        weir_yaml_print(credentials, &text);
    else
        weir_buf_append_text(&text, is_local ? LOCAL : "{}");
    (void)setenv(VARIABLE, weir_buf_text(&text), 1);
}

/* ---- what was handed on ---- */

void weir_credentials_use_own(void)
{
    if (getenv(VARIABLE) == NULL)
        weir_credentials_hand_on(NULL, true);
}

static bool may_be_sent_to(const struct weir_credentials *credentials, const char *endpoint)
{
    const char *slashes = strstr(endpoint, "://");
    const char *host = slashes != NULL ? slashes + strlen("://") : endpoint;
    size_t size = strcspn(host, "/");
    for (size_t i = 0; i < credentials->hosts.count; i++) {
        const char *allowed = weir_yaml_text(weir_yaml_at(credentials->hosts.node, i));
        if (strcmp(allowed, "*") == 0 ||
            (strlen(allowed) == size && strncasecmp(allowed, host, size) == 0))
            return true;
    }
    return false;
}

static enum weir_status find_one(const struct weir_yaml_node *section, const char *name,
                                 struct weir_credentials *ret_credentials, struct weir_error *err)
{
    WEIR_AUTO_BUF names = {0};
    for (size_t i = 0; i < weir_yaml_pairs(section); i++) {
        const char *key = weir_yaml_key(section, i);
        if (weir_str_equal(key, name))
            return read_one(section, i, ret_credentials, err);
        weir_buf_printf(&names, "%s%s", i > 0 ? ", " : "", key);
    }
    return weir_fail(err, WEIR_INVALID,
                     "found '%s', expected one of those that `credentials` of the system file "
                     "declares: %s",
                     name, names.size > 0 ? weir_buf_text(&names) : "none");
}

static enum weir_status load(struct weir_yaml **ret_document, struct weir_error *err)
{
    const char *text = getenv(VARIABLE);
    *ret_document = NULL;
    return text == NULL ? WEIR_OK
                        : weir_yaml_parse(VARIABLE, weir_bytes_of(text), ret_document, err);
}

enum weir_status weir_credentials_find(const char *name, const char *endpoint,
                                       struct weir_credentials *ret_credentials,
                                       struct weir_error *err)
{
    struct weir_credentials found = {0};
    WEIR_AUTO(weir_yaml) document = NULL;
    enum weir_status status = load(&document, err);
    if (status == WEIR_OK && document != NULL)
        status = find_one(weir_yaml_root(document), name, &found, err);
    if (status == WEIR_OK && document != NULL && !may_be_sent_to(&found, endpoint))
        status = weir_fail(err, WEIR_DENIED,
                           "'%s' may not be sent to %s: `credentials.%s.hosts` of the system file "
                           "names the hosts",
                           name, endpoint, name);
    if (status != WEIR_OK)
        return status;
    found.document = WEIR_TAKE(document);
    *ret_credentials = found;
    return WEIR_OK;
}

void weir_credentials_fini(struct weir_credentials *credentials)
{
    weir_yaml_free(credentials->document);
    *credentials = (struct weir_credentials){0};
}

bool weir_credentials_use(const char *name)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    struct weir_error err;
    bool is_used = strncmp(name, USUAL, strlen(USUAL)) == 0;
    if (is_used || load(&document, &err) != WEIR_OK || document == NULL)
        return is_used;
    const struct weir_yaml_node *section = weir_yaml_root(document);
    for (size_t i = 0; !is_used && i < weir_yaml_pairs(section); i++) {
        struct weir_credentials one = {0};
        is_used = read_one(section, i, &one, &err) == WEIR_OK && one.file == NULL &&
                  (weir_str_equal(one.key_id_env, name) || weir_str_equal(one.secret_env, name) ||
                   weir_str_equal(one.token_env, name));
    }
    return is_used;
}

void weir_credentials_describe(struct weir_buf *out)
{
    weir_buf_append_text(
        out,
        "\n## credentials.NAME\n\nKeys of object stores that data sets may name "
        "(`source.s3.credentials`). Without a system file there is `" WEIR_CREDENTIALS_ENVIRONMENT
        "`, of the usual variables, for any host.\n\n");
    cfg_document(KEYS, out);
}
