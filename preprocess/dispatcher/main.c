/* The dispatcher: leases groups of batches to workers and audits what became of them. */
#include "preprocess/dispatcher/dispatcher.h"

static enum weir_status check(const struct weir_yaml_node *root, struct weir_error *err)
{
    struct preprocess_options options;
    enum weir_status status = preprocess_options_read(root, &options, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(chain) chain = NULL;
    status = preprocess_chain_new(options.operators, &chain, err);
    return status == WEIR_OK ? preprocess_chain_check_files(chain, err) : status;
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
