/* A name alone, or a mapping by what is started. */
#include "orchestrator/launchers/launching.h"

#include "core/base/memory.h"

#include <stdlib.h>

static const char LOCAL[] = "local";

struct launcher_section {
    const char *workers, *trainers;
};

static const struct cfg_key LAUNCHER_KEYS[] = {
    CFG_TEXT(struct launcher_section, workers, .fallback = "local",
             .doc = "launcher of the workers of the pool"),
    CFG_TEXT(struct launcher_section, trainers, .fallback = "local",
             .doc = "launcher of trainers, and of the workers beside them"),
    CFG_END,
};

static enum weir_status check(const struct weir_yaml_node *node, const char *name,
                              struct weir_error *err)
{
    return orchestrator_launcher_find(name) != NULL
               ? WEIR_OK
               : cfg_plugin_unknown(&ORCHESTRATOR_LAUNCHERS, node, "", err);
}

static enum weir_status read_mapping(const struct weir_yaml_node *node, struct launching *launching,
                                     struct weir_error *err)
{
    struct launcher_section section = {.workers = NULL};
    enum weir_status status =
        cfg_read(LAUNCHER_KEYS, CFG_CLOSED, node, "launcher", NULL, &section, err);
    launching->workers = section.workers;
    launching->trainers = section.trainers;
    if (status == WEIR_OK)
        status = check(weir_yaml_get(node, "workers"), launching->workers, err);
    return status == WEIR_OK ? check(weir_yaml_get(node, "trainers"), launching->trainers, err)
                             : status;
}

static enum weir_status read_names(const struct weir_yaml_node *node, struct launching *launching,
                                   struct weir_error *err)
{
    launching->workers = launching->trainers = LOCAL;
    if (node == NULL || weir_yaml_is_null(node))
        return WEIR_OK;
    if (weir_yaml_is_mapping(node))
        return read_mapping(node, launching, err);
    const char *name = weir_yaml_text(node);
    if (name == NULL)
        return weir_yaml_fail(node, err,
                              "launcher: expected the name of a launcher, or a mapping such as "
                              "{workers: slurm, trainers: local}, found a list");
    launching->workers = launching->trainers = name;
    return check(node, name, err);
}

enum weir_status orchestrator_launching_read(const struct weir_yaml_node *launcher,
                                             const struct weir_yaml_node *root,
                                             struct launching *ret_launching,
                                             struct weir_error *err)
{
    struct launching launching = {.workers = LOCAL};
    enum weir_status status = read_names(launcher, &launching, err);
    for (size_t i = 0; status == WEIR_OK && i < orchestrator_launcher_count(); i++) {
        const struct launcher *each = orchestrator_launcher_at(i);
        if (each->options_size == 0)
            continue;
        launching.options[i] = weir_calloc(1, each->options_size);
        status = cfg_read(each->options, CFG_CLOSED,
                          root != NULL ? weir_yaml_get(root, each->name) : NULL, each->name, NULL,
                          launching.options[i], err);
    }
    if (status != WEIR_OK) {
        orchestrator_launching_fini(&launching);
        return status;
    }
    *ret_launching = launching;
    return WEIR_OK;
}

void orchestrator_launching_fini(struct launching *launching)
{
    for (size_t i = 0; i < LAUNCHERS_MAX; i++)
        free(launching->options[i]);
    *launching = (struct launching){.workers = NULL};
}

size_t orchestrator_launching_at(const struct launching *launching, const char *place)
{
    const char *name = weir_str_equal(place, "pool") ? launching->workers : launching->trainers;
    size_t at = 0;
    while (!weir_str_equal(orchestrator_launcher_at(at)->name, name != NULL ? name : LOCAL))
        at++;
    return at;
}

const char *orchestrator_launching_folder(const struct launching *launching)
{
    const char *folder = NULL;
    for (size_t i = 0; folder == NULL && i < orchestrator_launcher_count(); i++) {
        const struct launcher *each = orchestrator_launcher_at(i);
        if (each->elsewhere != NULL && launching->options[i] != NULL)
            folder = each->elsewhere->folder(launching->options[i]);
    }
    return folder;
}

void orchestrator_launching_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "\n## launcher\n\nA name alone: of workers and trainers.\n\n");
    cfg_document(LAUNCHER_KEYS, out);
    for (size_t i = 0; i < orchestrator_launcher_count(); i++) {
        const struct launcher *each = orchestrator_launcher_at(i);
        if (each->options_size == 0)
            continue;
        weir_buf_printf(out, "\n## %s\n\nOf launcher %s: %s.\n\n", each->name, each->name,
                        each->summary);
        cfg_document(each->options, out);
    }
}
