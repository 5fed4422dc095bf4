/* Finding plug-ins by name, and reading their options. */
#include "core/config/plugin.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { OPTIONS_ALIGNMENT = 16 };

const struct cfg_plugin *cfg_plugin_find(const struct cfg_registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->count; i++)
        if (weir_str_equal(registry->at[i]->name, name))
            return registry->at[i];
    return NULL;
}

/* ---- complaints ---- */

/* `path` is that of the name itself. */
static enum weir_status fail_unknown(const struct cfg_registry *registry,
                                     const struct weir_yaml_node *named, const char *path,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE const char **names = weir_calloc(registry->count + 1, sizeof(*names));

    for (size_t i = 0; i < registry->count; i++)
        names[i] = registry->at[i]->name;
    return cfg_unknown(named, path, registry->what, names, err);
}

enum weir_status cfg_plugin_unknown(const struct cfg_registry *registry,
                                    const struct weir_yaml_node *named, const char *path,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *key =
        weir_format("%s%s%s", path, path[0] != '\0' ? "." : "", registry->key);

    return fail_unknown(registry, named, key, err);
}

/* ---- opening ---- */

/* One cfg_plugin_open() in progress. */
struct opening {
    const struct cfg_registry *registry;
    const struct weir_yaml_node *node;
    const char *path;
    struct cfg_key *keys; /* the shared ones */
    struct cfg_key *key;  /* of these, the one that names the plug-in; NULL: it is not among them */
    size_t shared_size;
};

static struct cfg_key *find_key(struct cfg_key *keys, const char *name)
{
    while (keys->name != NULL && strcmp(keys->name, name) != 0)
        keys++;
    return keys->name != NULL ? keys : NULL;
}

/* Complains about the shared keys too, the absent name among them. */
static enum weir_status fail_unnamed(const struct opening *opening, struct weir_error *err)
{
    WEIR_AUTO_FREE void *section = weir_calloc(1, opening->shared_size + 1);
    enum weir_status status = WEIR_OK;

    if (weir_yaml_is_mapping(opening->node))
        status =
            cfg_read(opening->keys, CFG_OPEN, opening->node, opening->path, NULL, section, err);
    if (status != WEIR_OK)
        return status;
    return weir_yaml_fail(opening->node, err, "%s: expected %s", opening->path,
                          opening->registry->expected);
}

static enum weir_status find(const struct opening *opening, const struct cfg_plugin **ret_plugin,
                             struct weir_error *err)
{
    const struct cfg_registry *registry = opening->registry;
    bool is_mapping = weir_yaml_is_mapping(opening->node);
    const struct weir_yaml_node *named =
        is_mapping ? weir_yaml_get(opening->node, registry->key) : opening->node;
    const char *name = is_mapping || registry->takes_name ? weir_yaml_text(named) : NULL;

    if (name == NULL && is_mapping && opening->key != NULL)
        name = opening->key->fallback;
    if (name == NULL)
        return fail_unnamed(opening, err);
    *ret_plugin = cfg_plugin_find(registry, name);
    if (*ret_plugin != NULL)
        return WEIR_OK;
    return is_mapping ? cfg_plugin_unknown(registry, named, opening->path, err)
                      : fail_unknown(registry, named, opening->path, err);
}

/* A name alone reads as a mapping that says nothing else. */
static enum weir_status read_options(const struct opening *opening, struct cfg_opened *opened,
                                     struct weir_error *err)
{
    size_t own_at =
        (opening->shared_size + OPTIONS_ALIGNMENT - 1) / OPTIONS_ALIGNMENT * OPTIONS_ALIGNMENT;

    if (opening->key != NULL) {
        opening->key->required = false;
        opening->key->fallback = opened->plugin->name;
    }
    WEIR_AUTO_FREE struct cfg_key *keys = cfg_join(opening->keys, opened->plugin->options, own_at);
    opened->memory = weir_calloc(1, own_at + opened->plugin->options_size + 1);
    opened->options = (char *)opened->memory + own_at;
    return cfg_read(keys, weir_yaml_is_mapping(opening->node) ? CFG_CLOSED : CFG_ALONE,
                    opening->node, opening->path, opening->registry->key, opened->memory, err);
}

enum weir_status cfg_plugin_open(const struct cfg_registry *registry,
                                 const struct cfg_shared *shared, const struct weir_yaml_node *node,
                                 const char *path, struct cfg_opened *ret_opened,
                                 struct weir_error *err)
{
    static const struct cfg_key NONE[] = {CFG_END};
    struct cfg_opened opened = {0};
    WEIR_AUTO_FREE struct cfg_key *keys = cfg_join(shared == NULL ? NONE : shared->keys, NONE, 0);
    const struct opening opening = {
        .registry = registry,
        .node = node,
        .path = path,
        .keys = keys,
        .key = find_key(keys, registry->key),
        .shared_size = shared == NULL ? 0 : shared->size,
    };
    enum weir_status status = find(&opening, &opened.plugin, err);

    if (status == WEIR_OK)
        status = read_options(&opening, &opened, err);
    if (status == WEIR_OK)
        *ret_opened = opened;
    else
        free(opened.memory);
    return status;
}

/* ---- the reference page ---- */

void cfg_plugin_document(const struct cfg_plugin *plugin, const char *heading, struct weir_buf *out)
{
    size_t size = strlen(plugin->summary);

    weir_buf_printf(out, "\n%s: %s\n\n%s%s\n", heading, plugin->name, plugin->summary,
                    plugin->summary[size - 1] == '.' ? "" : ".");
    if (plugin->options->name == NULL)
        return;
    weir_buf_append_text(out, "\n");
    cfg_document(plugin->options, out);
}

void cfg_registry_document(const struct cfg_registry *registry, const char *heading,
                           struct weir_buf *out)
{
    for (size_t i = 0; i < registry->count; i++)
        cfg_plugin_document(registry->at[i], heading, out);
}
