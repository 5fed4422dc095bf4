/* The selector: decides WHICH samples a training run sees. */
#include "selector/pipelines/section.h"
#include "selector/selector.h"

static void check(const struct weir_yaml_node *root, struct cfg_complaints *complaints)
{
    struct weir_error err;

    if (weir_yaml_get(root, "selection") != NULL) /* if not, the orchestrator misses it */
        cfg_note(complaints, selector_section_check(root, &err), &err);
}

int main(int argc, char **argv)
{
    const struct weir_service service = {
        .name = "selector",
        .summary = "decides which samples each trigger trains on, and seals them as sample sets",
        .example = "selector --check-config config/pipelines/quickstart.yaml",
        .handlers = SELECTOR_HANDLERS,
        .open = selector_open,
        .close = selector_close,
        .wipe = selector_wipe,
        .sections = {.check = check,
                     .print = selector_section_print,
                     .describe = selector_section_describe},
    };
    return weir_service_main(&service, argc, argv);
}
