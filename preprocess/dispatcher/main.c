/* The dispatcher: leases groups of batches to workers and audits what became of them. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/memory.h"
#include "core/config/sections.h"
#include "core/service/programs.h"
#include "preprocess/dispatcher/keys.h"
#include "preprocess/preview/look.h"
#include "preprocess/preview/tensors.h"

/* The operators of a file alone: the columns of its tables are those that it names. */
struct planned {
    struct preprocess_tables *tables;
    struct chain *chain; /* borrows from them */
};

static enum weir_status plan(const struct weir_yaml_node *root, struct planned *planned,
                             struct weir_error *err)
{
    const struct weir_yaml_node *section = weir_yaml_get(root, "preprocess");
    planned->tables = preprocess_tables_read(root, NULL);
    return preprocess_chain_new(weir_yaml_get(section, "operators"),
                                preprocess_tables_records(planned->tables), &planned->chain, err);
}

static void planned_fini(struct planned *planned)
{
    preprocess_chain_free(planned->chain);
    preprocess_tables_free(planned->tables);
}

/* Refuses a place at which rows cannot be kept. */
static enum weir_status check_cut(const struct weir_yaml_node *root, struct planned *planned,
                                  struct weir_error *err)
{
    struct preprocess_options options;
    enum weir_status status = preprocess_options_read(root, &options, err);
    return status == WEIR_OK ? preprocess_plan_cut(&options.plan, 0, &planned->chain, err) : status;
}

/* Refuses operators that would be fitted again, on another set, amidst a training. */
static enum weir_status check_rounds(const struct weir_yaml_node *root, const struct chain *chain,
                                     struct weir_error *err)
{
    const struct weir_yaml_node *period = cfg_period_node(root);
    if (period == NULL || !preprocess_chain_wants_samples(chain))
        return WEIR_OK;
    return weir_yaml_fail(
        period, err,
        "selection.score.period: expected none with an operator that is fitted on "
        "the set of a training: each round has another set");
}

/* Refuses a policy that there is not, and options that it does not have. */
static enum weir_status check_policy(const struct weir_yaml_node *root, struct weir_error *err)
{
    const struct weir_yaml_node *plan = weir_yaml_get(weir_yaml_get(root, "preprocess"), "plan");
    struct scaling_job job = {0};
    enum weir_status status = preprocess_scaling_open(weir_yaml_get(plan, "policy"), &job, err);
    preprocess_scaling_job_fini(&job);
    return status;
}

static void describe(struct weir_buf *out)
{
    preprocess_options_describe(out);
    cfg_registry_document(&PREPROCESS_SCALE_POLICIES, "### preprocess.plan.policy", out);
}

/* The chain is planned once the options of all operators are good: each is planned by what those before it make. */
static void check(const struct weir_yaml_node *root, struct cfg_complaints *all)
{
    struct weir_error err;
    struct planned planned = {0};
    cfg_note(all, check_policy(root, &err), &err);
    if (!preprocess_options_check(root, all))
        return;
    planned.tables = preprocess_tables_read(root, NULL);
    if (preprocess_chain_check(weir_yaml_get(weir_yaml_get(root, "preprocess"), "operators"),
                               preprocess_tables_records(planned.tables), &planned.chain, all))
        cfg_note(all, preprocess_chain_check_files(planned.chain, &err), &err);
    if (planned.chain != NULL)
        cfg_note(all, check_rounds(root, planned.chain, &err), &err);
    if (planned.chain != NULL && all->status == WEIR_OK)
        cfg_note(all, check_cut(root, &planned, &err), &err);
    planned_fini(&planned);
}

static void facts(const struct weir_yaml_node *root, struct weir_buf *out)
{
    struct weir_error err;
    struct planned planned = {0};
    if (plan(root, &planned, &err) == WEIR_OK) { /* if not, check() has said so */
        json_t *all = json_pack("{so}", "tensors", preprocess_tensors_json(planned.chain, NULL));
        WEIR_AUTO_FREE char *text = json_dumps(all, 0);
        json_decref(all);
        weir_buf_append_text(out, text != NULL ? text : "");
    }
    planned_fini(&planned);
}

/* Checked alone, a file may name any program. */
static void remark(const struct weir_yaml_node *root, struct weir_buf *out)
{
    const struct weir_yaml_node *operators =
        weir_yaml_get(weir_yaml_get(root, "preprocess"), "operators");
    for (size_t i = 0; i < weir_yaml_length(operators); i++) {
        struct weir_error err;
        struct weir_allowed allowed;
        const struct weir_yaml_node *node = weir_yaml_at(operators, i);
        const char *program = weir_yaml_text(weir_yaml_get(node, "program"));
        if (program == NULL || weir_programs_find(program, &allowed, &err) != WEIR_OK)
            continue;
        if (allowed.command.count == 0) {
            weir_ignore(weir_yaml_fail(node, &err,
                                       "preprocess.operators: program '%s' has to be one of "
                                       "`programs` of the system file: check with that, too",
                                       program));
            weir_buf_printf(out, "%s\n", err.text);
        }
        weir_allowed_fini(&allowed);
    }
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
    .keys = preprocess_dispatcher_keys,
    .sections = {.check = check,
                 .facts = facts,
                 .look = preprocess_look,
                 .remark = remark,
                 .print = preprocess_options_print,
                 .describe = describe},
};

int main(int argc, char **argv)
{
    return weir_service_main(&DISPATCHER, argc, argv);
}
