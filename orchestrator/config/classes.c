/* label.classes of the file's datasets. */
#include "orchestrator/config/classes.h"

const char *orchestrator_config_class_name(const struct orchestrator_config *config, int64_t number)
{
    const struct weir_yaml_node *datasets = cfg_datasets(weir_yaml_root(config->document));
    for (size_t i = 0; i < weir_yaml_length(datasets); i++) {
        const struct weir_yaml_node *label = weir_yaml_get(weir_yaml_at(datasets, i), "label");
        const struct weir_yaml_node *classes = weir_yaml_get(label, "classes");
        bool is_list = classes != NULL && weir_yaml_text(classes) == NULL; /* not `stream` */
        if (is_list && number >= 0 && (uint64_t)number < weir_yaml_length(classes))
            return weir_yaml_text(weir_yaml_at(classes, (size_t)number));
    }
    return NULL;
}
