/* The built-in trainer as a process: `trainer --run N …`, started by the orchestrator for each run. */
#include "core/service/service.h"
#include "trainer_client/fit.h"
#include "trainer_client/trainer.h"

static enum weir_status print(const struct weir_yaml_node *root, struct weir_buf *out,
                              struct weir_error *err)
{
    struct training training;
    enum weir_status status = trainer_training_read(root, &training, err);
    if (status == WEIR_OK)
        trainer_training_print(&training, out);
    return status;
}

static const struct weir_service TRAINER = {
    .name = "trainer",
    .summary = "makes or applies the model of one run",
    .example = "trainer --run 7 --data-dir .weir --socket-dir .weir/run",
    .lends_memory = true,
    .open = trainer_open,
    .close = trainer_close,
    .exit_code = trainer_exit_code,
    .sections = {.check = trainer_training_check,
                 .look = trainer_fit_look,
                 .print = print,
                 .describe = trainer_training_describe},
};

int main(int argc, char **argv)
{
    return weir_service_main(&TRAINER, argc, argv);
}
