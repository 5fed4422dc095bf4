/* Plug-ins by name. A plug-in is a const table that begins with CFG_PLUGIN; a registry lists all of one kind; opening
 * one means to find the plug-in that a section names and to read its options.
 *
 *     struct metric {
 *         CFG_PLUGIN; // .name = "accuracy", .summary = …, .options = …, .options_size = …
 *         bool (*measure)(…);
 *     };
 *     CFG_REGISTRY(orchestrator_metric, struct metric, ORCHESTRATOR_METRICS) */
#ifndef WEIR_CONFIG_PLUGIN_H
#define WEIR_CONFIG_PLUGIN_H

#include "core/config/schema.h"

#define CFG_PLUGIN_MEMBERS                                                        \
    const char *name;                                                             \
    const char *summary;           /* one sentence for the reference page */      \
    const struct cfg_key *options; /* its own keys; CFG_END alone: it has none */ \
    size_t options_size

struct cfg_plugin {
    CFG_PLUGIN_MEMBERS;
};
/* The members of struct cfg_plugin, which is `plugin` itself. */
#define CFG_PLUGIN                \
    union {                       \
        struct cfg_plugin plugin; \
        struct {                  \
            CFG_PLUGIN_MEMBERS;   \
        };                        \
    }

struct cfg_registry {
    const char *what;     /* kind of the plug-ins in messages: "trigger policy" */
    const char *key;      /* key of a section that names one: "policy" */
    const char *expected; /* example of a section: "a statistic such as {name: mmd}" */
    bool takes_name;      /* a name alone is a section too */
    const struct cfg_plugin *const *at;
    size_t count;
};

const struct cfg_plugin *cfg_plugin_find(const struct cfg_registry *registry, const char *name);

/* Declares prefix_find(name), which returns NULL for an unknown name, prefix_count() and prefix_at(index). */
// clang-format off
#define CFG_REGISTRY(prefix, type, registry)                                  \
    extern const struct cfg_registry registry;                                \
    static inline const type *prefix##_find(const char *name)                 \
    {                                                                         \
        return (const type *)cfg_plugin_find(&registry, name);                \
    }                                                                         \
    static inline size_t prefix##_count(void)                                 \
    {                                                                         \
        return registry.count;                                                \
    }                                                                         \
    static inline const type *prefix##_at(size_t index)                       \
    {                                                                         \
        weir_require(index < registry.count);                                 \
        return (const type *)registry.at[index];                              \
    }
// clang-format on

/* Keys of every section of a kind, whichever plug-in it names. */
struct cfg_shared {
    const struct cfg_key *keys; /* with that of the registry */
    size_t size;                /* of the struct they fill */
};

/* A plug-in with the options that a section gives it. */
struct cfg_opened {
    const struct cfg_plugin *plugin;
    void *memory;  /* the struct of the shared keys; the caller frees it */
    void *options; /* the plug-in's own, in the same memory */
};

/* Opens the plug-in that the section `node` names. `shared` is NULL where only the name is shared. A section without
 * the name is of the plug-in that the shared key falls back to. */
enum weir_status cfg_plugin_open(const struct cfg_registry *registry,
                                 const struct cfg_shared *shared, const struct weir_yaml_node *node,
                                 const char *path, struct cfg_opened *ret_opened,
                                 struct weir_error *err) WEIR_MUST_USE;

/* INVALID at `named`, which names no plug-in though it is the registry's key of the section at `path`. */
enum weir_status cfg_plugin_unknown(const struct cfg_registry *registry,
                                    const struct weir_yaml_node *named, const char *path,
                                    struct weir_error *err);

/* Appends the reference of a plug-in, or of all: "### HEADING: NAME", summary, options. */
void cfg_plugin_document(const struct cfg_plugin *plugin, const char *heading,
                         struct weir_buf *out);
void cfg_registry_document(const struct cfg_registry *registry, const char *heading,
                           struct weir_buf *out);

#endif
