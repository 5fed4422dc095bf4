/* Sections on one line: see facts.h. */
#include "orchestrator/config/facts.h"

#include "core/base/utf8.h"

#include <string.h>

void orchestrator_config_put_fact(const struct orchestrator_config *config, const char *section,
                                  struct weir_buf *out)
{
    const struct weir_yaml_node *node = weir_yaml_get(weir_yaml_root(config->document), section);
    WEIR_AUTO_BUF fact = {0};
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        const char *key = weir_yaml_key(node, i);
        if (strcmp(key, "options") == 0)
            continue;
        weir_buf_printf(&fact, "%s%s: ", fact.size > 0 ? ", " : "", key);
        weir_yaml_print(weir_yaml_value(node, i), &fact);
    }
    weir_utf8_shorten(&fact, CONFIG_FACT_BYTES_MAX);
    weir_buf_append(out, fact.at, fact.size);
}
