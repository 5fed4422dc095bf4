/* The meaning of differences between two files: see changes.h. */
#include "orchestrator/config/changes.h"

#include <string.h>

static const char *const EFFECTS[] = {
#define X(name, text) [CONFIG_EFFECT_##name] = (text),
    CONFIG_EFFECT_LIST(X)
#undef X
};

const char *orchestrator_config_effect_name(enum config_effect effect)
{
    return EFFECTS[effect];
}

/* Keys under `path`, unless a later row has a longer one. */
struct rule {
    const char *path;
    enum config_effect effect;
    bool of_weights; /* the next model goes on from weights that were learnt otherwise */
    const char *text;
};

static const struct rule RULES[] = {
    {"", CONFIG_EFFECT_RERUN, false, "everything of the pipeline hangs on it"},
    {"trigger", CONFIG_EFFECT_NEXT_TRIGGER, false,
     "from the next trigger on, which the policy counts towards anew"},
    {"selection", CONFIG_EFFECT_NEXT_TRIGGER, false, "from the next trigger on; sealed sets stay"},
    {"preprocess", CONFIG_EFFECT_NEXT_TRIGGER, false, "from the next training on"},
    {"preprocess.operators", CONFIG_EFFECT_NEXT_TRIGGER, true, "from the next training on"},
    {"training", CONFIG_EFFECT_NEXT_TRIGGER, false, "from the next training on"},
    {"training.model", CONFIG_EFFECT_NEXT_TRIGGER, true, "from the next training on"},
    {"training.program", CONFIG_EFFECT_NEXT_TRIGGER, true, "from the next training on"},
    {"training.loss", CONFIG_EFFECT_NEXT_TRIGGER, true, "from the next training on"},
    {"training.optimizer.name", CONFIG_EFFECT_NEXT_TRIGGER, true, "from the next training on"},
    {"evaluation", CONFIG_EFFECT_NOW, false,
     "measured from now on; what is measured under its name stays"},
    {"promote", CONFIG_EFFECT_NOW, false, "for models that are measured from now on"},
    {"models", CONFIG_EFFECT_NOW, false, "for models that are stored from now on"},
    {"budget", CONFIG_EFFECT_NOW, false, "now; what is spent counts"},
    {"deletion", CONFIG_EFFECT_NOW, false, "for erasures from now on"},
};

static bool is_under(const char *path, const char *rule)
{
    size_t size = strlen(rule);

    return size == 0 || (strncmp(path, rule, size) == 0 &&
                         (path[size] == '\0' || path[size] == '.' || path[size] == '['));
}

static const struct rule *find_rule(const char *path)
{
    const struct rule *found = &RULES[0];

    for (size_t i = 1; i < WEIR_COUNT(RULES); i++)
        if (is_under(path, RULES[i].path) && strlen(RULES[i].path) > strlen(found->path))
            found = &RULES[i];
    return found;
}

/* ---- datasets, which storage judges by their samples ---- */

/* `path` is "datasets[0].source.settle". */
static bool is_storage_taking(const char *path)
{
    const char *key = strchr(path, '.');

    return key != NULL && cfg_dataset_may_change(key + 1);
}

static bool is_use(const char *path)
{
    const char *key = strchr(path, '.');

    return key != NULL && cfg_dataset_is_use(key + 1);
}

struct changes {
    const struct orchestrator_config *is;
    config_change_fn *on_change;
    void *owner;
};

static void on_dataset(void *owner, const struct cfg_difference *difference)
{
    const struct changes *changes = owner;
    bool is_taken = is_storage_taking(difference->path);
    if (is_use(difference->path)) {
        changes->on_change(changes->owner, &(struct config_change){
                                               .difference = difference,
                                               .effect = CONFIG_EFFECT_NEXT_TRIGGER,
                                               .text = "from the next trigger on; sealed sets stay",
                                           });
        return;
    }

    changes->on_change(changes->owner,
                       &(struct config_change){
                           .difference = difference,
                           .effect = is_taken ? CONFIG_EFFECT_NOW : CONFIG_EFFECT_RERUN,
                           .text = is_taken ? "now" : "samples and sets that are there hang on it",
                       });
}

static void on_difference(void *owner, const struct cfg_difference *difference)
{
    const struct changes *changes = owner;
    const struct rule *rule = find_rule(difference->path);
    bool contradicts = rule->of_weights && strcmp(changes->is->start_from, "previous") == 0;

    if (is_under(difference->path, "datasets") || is_under(difference->path, "dataset"))
        return; /* compared as lists, by whichever name */
    changes->on_change(
        changes->owner,
        &(struct config_change){
            .difference = difference,
            .effect = contradicts ? CONFIG_EFFECT_RERUN : rule->effect,
            .text = contradicts ? "the next model goes on from weights that were learnt otherwise, "
                                  "unless training.start_from is scratch"
                                : rule->text,
        });
}

void orchestrator_config_changes(const struct orchestrator_config *was,
                                 const struct orchestrator_config *is, config_change_fn *on_change,
                                 void *owner)
{
    struct changes changes = {.is = is, .on_change = on_change, .owner = owner};
    const struct weir_yaml_node *old = weir_yaml_root(was->document),
                                *new = weir_yaml_root(is->document);

    cfg_differences("datasets", cfg_datasets(old), cfg_datasets(new), on_dataset, &changes);
    cfg_differences("", old, new, on_difference, &changes);
}
