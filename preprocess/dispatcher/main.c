/* The dispatcher: leases groups of batches to workers and audits what became of them. */
#include "preprocess/dispatcher/dispatcher.h"

static enum weir_status check(const struct weir_yaml_node *root, struct weir_error *err)
{
    struct preprocess_options options;
    enum weir_status status = preprocess_options_read(root, &options, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(chain) chain = NULL;
    status = chain_new(options.operators, &chain, err);
    return status == WEIR_OK ? chain_check_files(chain, err) : status;
}

static const struct weir_service DISPATCHER = {
    .name = "dispatcher",
    .summary = "leases groups of batches to workers and audits what became of every sample",
    .example = "dispatcher --check-config config/pipelines/quickstart.yaml",
    .handlers = DISPATCHER_HANDLERS,
    .open = dispatcher_open,
    .close = dispatcher_close,
    .wipe = dispatcher_wipe,
    .check = check,
    .print = preprocess_options_print,
    .describe = preprocess_options_describe,
};

int main(int argc, char **argv)
{
    return weir_service_main(&DISPATCHER, argc, argv);
}
