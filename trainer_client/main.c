/* The built-in trainer as a process: `trainer --run N …`, started by the orchestrator for each run.
 * */
#include "core/service/programs.h"
#include "core/service/service.h"
#include "trainer_client/trainer.h"

/* Modes that a program needs for sections of the pipeline file. */
static const struct need {
    const char *section, *mode;
} NEEDS[] = {{"training", "train"}, {"evaluation", "evaluate"}};

static enum weir_status check_modes(const struct weir_yaml_node *root, const char *name,
                                    const struct weir_allowed *allowed, struct weir_error *err)
{
    for (size_t i = 0; i < WEIR_COUNT(NEEDS); i++) {
        const struct weir_yaml_node *section = weir_yaml_get(root, NEEDS[i].section);
        if (section != NULL && !weir_allowed_has_mode(allowed, NEEDS[i].mode))
            return weir_yaml_fail(
                section, err,
                "%s: needs mode %s of program '%s', which does not do it: expected "
                "it in programs.%s.modes of the system file",
                NEEDS[i].section, NEEDS[i].mode, name, name);
    }
    return WEIR_OK;
}

/* The programs that are allowed are known where the orchestrator checks the file. */
static enum weir_status check_program(const struct weir_yaml_node *root, const char *name,
                                      struct weir_error *err)
{
    const struct weir_yaml_node *node = weir_yaml_get(weir_yaml_get(root, "training"), "program");
    struct weir_allowed allowed = {0};
    struct weir_error unknown;

    if (weir_programs_find(name, &allowed, &unknown) != WEIR_OK)
        return weir_yaml_fail(node, err, "training.program: %s", unknown.text);
    enum weir_status status =
        allowed.command.count > 0 ? check_modes(root, name, &allowed, err) : WEIR_OK;
    weir_allowed_fini(&allowed);
    return status;
}

static enum weir_status check(const struct weir_yaml_node *root, struct weir_error *err)
{
    struct training training;
    enum weir_status status = trainer_training_read(root, &training, err);

    if (status != WEIR_OK || training.keys.program[0] == '\0')
        return status;
    return check_program(root, training.keys.program, err);
}

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
    .lends_memory = true,
    .name = "trainer",
    .summary = "makes or applies the model of one run",
    .example = "trainer --run 7 --data-dir .weir --socket-dir .weir/run",
    .open = trainer_open,
    .close = trainer_close,
    .succeeded = trainer_succeeded,
    .check = check,
    .print = print,
    .describe = trainer_training_describe,
};

int main(int argc, char **argv)
{
    return weir_service_main(&TRAINER, argc, argv);
}
