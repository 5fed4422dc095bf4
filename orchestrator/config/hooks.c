/* URLs, names of events, files of secrets: see hooks.h. */
#include "orchestrator/config/hooks.h"

#include <string.h>

enum { URL_BYTES_MAX = 2000 };

static const struct cfg_key KEYS[] = {
    CFG_TEXT(struct orchestrator_hook, url, .required = true,
             .doc = "https://…, or http://…, that events are posted to"),
    CFG_TEXTS(struct orchestrator_hook, events,
              .doc = "names of the events that are; by default all"),
    CFG_TEXT(struct orchestrator_hook, secret, .required = true,
             .doc = "absolute path of a file, mode 0600, of what they are signed with"),
    CFG_END,
};

/* A URL is shown by its host alone: the rest may be a secret of the receiver's, but for a password, which is none. */
static enum weir_status check_url(const struct weir_yaml_node *node, const char *url,
                                  struct weir_error *err)
{
    const char *host = strncmp(url, "https://", 8) == 0  ? url + 8
                       : strncmp(url, "http://", 7) == 0 ? url + 7
                                                         : NULL;
    if (host == NULL || strcspn(host, "/?#") == 0 || strpbrk(host, "@ \"\\") != NULL ||
        strlen(url) > URL_BYTES_MAX)
        return weir_yaml_fail(
            weir_yaml_get(node, "url"), err,
            "webhooks.url: expected https://HOST/PATH or http://HOST/PATH without "
            "user and password, at most %d bytes",
            URL_BYTES_MAX);
    return WEIR_OK;
}

static enum weir_status read_one(const struct weir_yaml_node *node, struct orchestrator_hook *hook,
                                 struct weir_error *err)
{
    *hook = (struct orchestrator_hook){0};
    enum weir_status status = cfg_read(KEYS, CFG_CLOSED, node, "webhooks", NULL, hook, err);
    if (status == WEIR_OK)
        status = check_url(node, hook->url, err);
    if (status == WEIR_OK && hook->secret[0] != '/')
        status =
            weir_yaml_fail(weir_yaml_get(node, "secret"), err,
                           "webhooks.secret: found '%s', expected an absolute path", hook->secret);
    return status;
}

enum weir_status orchestrator_hooks_check(const struct weir_yaml_node *hooks,
                                          struct weir_error *err)
{
    struct orchestrator_hook read[ORCHESTRATOR_HOOKS_MAX];
    size_t count = weir_yaml_length(hooks);
    if (hooks != NULL && (count == 0 || count > ORCHESTRATOR_HOOKS_MAX))
        return weir_yaml_fail(hooks, err,
                              "webhooks: expected a list of 1 to %d {url: …, secret: …}",
                              ORCHESTRATOR_HOOKS_MAX);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(hooks, i);
        status = read_one(node, &read[i], err);
        for (size_t j = 0; j < i && status == WEIR_OK; j++)
            if (strcmp(read[j].url, read[i].url) == 0)
                status = weir_yaml_fail(node, err, "webhooks.url: is in the list twice");
    }
    return status;
}

size_t orchestrator_hooks_read(const struct weir_yaml_node *hooks,
                               struct orchestrator_hook ret_hooks[ORCHESTRATOR_HOOKS_MAX])
{
    struct weir_error err;
    size_t count = weir_yaml_length(hooks);
    for (size_t i = 0; i < count; i++) /* it was checked when it was loaded */
        weir_require(read_one(weir_yaml_at(hooks, i), &ret_hooks[i], &err) == WEIR_OK);
    return count;
}

void orchestrator_hooks_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "\n## webhooks[]\n\nPosts of events, signed; see the "
                              "[guide](../guides/webhooks.md).\n\n");
    cfg_document(KEYS, out);
}
