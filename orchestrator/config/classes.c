/* label.classes of the file's datasets. */
#include "orchestrator/config/classes.h"

#include "core/base/memory.h"

/* The list that all datasets share; NULL: there is none, or it is `stream`. */
static const struct weir_yaml_node *find_list(const struct orchestrator_config *config)
{
    const struct weir_yaml_node *datasets = cfg_datasets(weir_yaml_root(config->document));
    for (size_t i = 0; i < weir_yaml_length(datasets); i++) {
        const struct weir_yaml_node *label = weir_yaml_get(weir_yaml_at(datasets, i), "label");
        const struct weir_yaml_node *classes = weir_yaml_get(label, "classes");
        if (classes != NULL && !weir_yaml_is_scalar(classes))
            return classes;
    }
    return NULL;
}

const char *orchestrator_config_class_name(const struct orchestrator_config *config, int64_t number)
{
    const struct weir_yaml_node *classes = find_list(config);
    bool is_there = number >= 0 && (uint64_t)number < weir_yaml_length(classes);
    return is_there ? weir_yaml_text(weir_yaml_at(classes, (size_t)number)) : NULL;
}

struct weir_strs orchestrator_config_class_names(const struct orchestrator_config *config,
                                                 const char ***ret_array)
{
    const struct weir_yaml_node *classes = find_list(config);
    size_t count = weir_yaml_length(classes);
    const char **names = weir_calloc(count + 1, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(classes, i));
        names[i] = name != NULL ? name : "";
    }
    *ret_array = names;
    return (struct weir_strs){names, count};
}
