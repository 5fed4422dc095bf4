/* The dispatcher: leases groups of batches to workers and audits what became of them. */
#include "preprocess/dispatcher/dispatcher.h"

/* The chain is planned once the options of all operators are good: each is planned by what those before it make. */
static void check(const struct weir_yaml_node *root, struct cfg_complaints *all)
{
    struct weir_error err;
    WEIR_AUTO(chain) chain = NULL;
    const struct weir_yaml_node *section = weir_yaml_get(root, "preprocess");
    if (!preprocess_options_check(root, all))
        return;
    if (cfg_note(all, preprocess_chain_new(weir_yaml_get(section, "operators"), &chain, &err),
                 &err))
        cfg_note(all, preprocess_chain_check_files(chain, &err), &err);
}

static const struct weir_service DISPATCHER = {
    .name = "dispatcher",
    .summary = "leases groups of batches to workers and audits what became of every sample",
    .example = "dispatcher --check-config config/pipelines/quickstart.yaml",
    .handlers = PREPROCESS_DISPATCHER_HANDLERS,
    .roles = WEIR_ROLE_PLATFORM | WEIR_ROLE_TRAINER,
    .open = preprocess_dispatcher_open,
    .close = preprocess_dispatcher_close,
    .wipe = preprocess_dispatcher_wipe,
    .check = check,
    .print = preprocess_options_print,
    .describe = preprocess_options_describe,
};

int main(int argc, char **argv)
{
    return weir_service_main(&DISPATCHER, argc, argv);
}
