/* See look.h. */
#include "preprocess/preview/look.h"

#include "core/base/memory.h"
#include "core/service/programs.h"
#include "preprocess/plan/options.h"
#include "preprocess/plan/tables.h"
#include "preprocess/preview/absent.h"
#include "preprocess/preview/blank.h"
#include "preprocess/preview/encoding.h"
#include "preprocess/preview/nearly.h"
#include "preprocess/preview/orders.h"
#include "preprocess/preview/tensors.h"
#include "preprocess/preview/trial.h"
#include "preprocess/preview/values.h"

enum { SAMPLES_SHOWN = 5, DATASETS_MAX = 64 };

struct looked {
    struct records datasets[DATASETS_MAX]; /* datasets with samples */
    size_t count;
};

static void read_datasets(const json_t *found, struct looked *looked)
{
    const json_t *list = json_object_get(found, "datasets");
    for (size_t i = 0; i < json_array_size(list) && looked->count < DATASETS_MAX; i++) {
        const json_t *dataset = json_array_get(list, i);
        if (json_is_true(json_object_get(dataset, "gives_samples")))
            preprocess_records_read(dataset, &looked->datasets[looked->count++]);
    }
}

/* The names of columns, as tables.h takes them. False when none are known. */
static bool pack_columns(const json_t *found, struct weir_buf *out)
{
    bool has_any = false;
    const json_t *list = json_object_get(found, "datasets");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *dataset = json_array_get(list, i);
        if (i > 0)
            weir_buf_append(out, "", 1);
        const char *columns = json_string_value(json_object_get(dataset, "columns"));
        has_any = has_any || columns[0] != '\0';
        weir_buf_printf(out, "%s\n%s", json_string_value(json_object_get(dataset, "name")),
                        columns);
    }
    return has_any;
}

/* ---- samples ---- */

static void add_step(void *owner, const struct chain_seen *seen)
{
    json_t *steps = owner;
    WEIR_AUTO_BUF text = {0};
    for (size_t i = 0; i < seen->made_count && !seen->is_absorbed; i++) {
        weir_buf_printf(&text, "%s%s -> %s ", i > 0 ? "; " : "", seen->in->about.name,
                        seen->made[i].about.name);
        preprocess_value_print(&seen->made[i], 0, &text);
    }
    if (seen->is_absorbed)
        weir_buf_append_text(&text, "done together with the operator before");
    else if (seen->made_count == 0)
        weir_buf_printf(&text, "reads %s", seen->in->about.name);
    json_array_append_new(steps, json_pack("[s,s]", seen->name, weir_buf_text(&text)));
}

/* Operators behind one that gives a record up make nothing of it that counts. */
static json_t *steps_json(struct trial *trial, const struct records *records, size_t index)
{
    json_t *steps = json_array();
    uint8_t state = preprocess_trial_run_one(trial, records, index);
    const struct operator_failures *failures = preprocess_chain_failures(trial->chain);
    preprocess_chain_walk(trial->chain, add_step, steps);
    if (state == OPERATOR_ROW_FAILED && failures->count > 0) {
        const struct operator_failure *failure = &failures->of[0];
        while (json_array_size(steps) > failure->step)
            json_array_remove(steps, json_array_size(steps) - 1);
        WEIR_AUTO_FREE char *text = weir_format("cannot read it: %s", failure->reason);
        json_array_append_new(
            steps,
            json_pack("[s,s]", preprocess_chain_cost(trial->chain, failure->step).name, text));
    } else if (state == OPERATOR_ROW_FILTERED) {
        json_array_append_new(steps, json_pack("[s,s]", "", "filtered out"));
    }
    return steps;
}

static json_t *sample_json(struct trial *trial, const struct records *records, size_t index)
{
    WEIR_AUTO_FREE char *place = preprocess_records_place(records, index);
    WEIR_AUTO_FREE char *about = preprocess_records_about(records, index);
    WEIR_AUTO_BUF record = {0};
    struct column payload = {.about = preprocess_column_about("record", COLUMN_BYTES, 0, 0)};
    struct weir_bytes bytes = preprocess_records_bytes(records, index);
    preprocess_column_begin(&payload);
    weir_buf_append(&payload.values, bytes.at, bytes.size);
    preprocess_column_end_row(&payload);
    preprocess_value_print(&payload, 0, &record);
    preprocess_column_fini(&payload);
    return json_pack("{ss,ss,ss,so}", "place", place, "about", about, "record",
                     weir_buf_text(&record), "steps", steps_json(trial, records, index));
}

/* Spread over the records. */
static json_t *shown_json(struct trial *trial, const struct records *records)
{
    json_t *samples = json_array();
    size_t step = records->count / SAMPLES_SHOWN + (records->count % SAMPLES_SHOWN > 0);
    for (size_t i = 0; i < records->count; i += step)
        json_array_append_new(samples, sample_json(trial, records, i));
    return json_pack("{sO,si,sO,so}", "dataset", json_object_get(records->dataset, "name"),
                     "records", (int)records->count, "path",
                     json_object_get(records->dataset, "path"), "samples", samples);
}

/* ---- the chain ---- */

/* Returns true when the program of an operator is known, or it has none. */
static bool can_run(const struct weir_yaml_node *node)
{
    struct weir_error err;
    struct weir_allowed allowed;
    const char *program = weir_yaml_text(weir_yaml_get(node, "program"));
    if (program == NULL)
        return true;
    if (weir_programs_find(program, &allowed, &err) != WEIR_OK)
        return false;
    bool is_known = allowed.command.count > 0;
    weir_allowed_fini(&allowed);
    return is_known;
}

/* Cuts the chain off where a program would have to be run that nobody has named. */
static void cut(struct trial *trial)
{
    for (size_t i = 0; i < weir_yaml_length(trial->operators) && !trial->is_cut; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(trial->operators, i);
        if (trial->is_lenient ? weir_yaml_get(node, "program") == NULL : can_run(node))
            continue;
        trial->is_cut = true;
        preprocess_chain_stop_before(trial->chain, i);
        if (trial->is_lenient)
            return; /* the run will run it */
        cfg_note_at(trial->complaints, WEIR_OK, node,
                    "preprocess.operators: exec was not run, nor was what stands behind it: no "
                    "system file says what '%s' is",
                    weir_yaml_text(weir_yaml_get(node, "program")));
    }
}

static json_t *try_chain(struct trial *trial, const struct operator_records *tables,
                         struct looked *looked)
{
    json_t *shown = json_array();
    size_t records = 0;
    for (size_t i = 0; i < looked->count; i++)
        records += looked->datasets[i].count;
    cut(trial);
    if (records > 0)
        preprocess_trial_fit(trial, looked->datasets, looked->count);
    for (size_t i = 0; i < looked->count && records > 0; i++) {
        preprocess_trial_run(trial, &looked->datasets[i]);
        preprocess_encoding_check(trial, &looked->datasets[i]);
        preprocess_absent_check(trial, &looked->datasets[i]);
        preprocess_blank_check(trial, tables, &looked->datasets[i]);
        if (looked->datasets[i].count > 0 && !trial->is_lenient)
            json_array_append_new(shown, shown_json(trial, &looked->datasets[i]));
    }
    preprocess_trial_end(trial);
    return json_pack("{so,so}", "tensors", preprocess_tensors_json(trial->chain, &trial->seen),
                     "shown", shown);
}

/* Limits stand as they do where they cannot be read, which others complain of. */
static void read_limits(struct trial *trial, const struct weir_yaml_node *root)
{
    struct weir_error err;
    struct preprocess_options options;
    const struct weir_yaml_node *section = weir_yaml_get(root, "preprocess");
    if (cfg_on_error_read(weir_yaml_get(section, "on_error"), &trial->on_error, &err) != WEIR_OK)
        weir_ignore(cfg_on_error_read(NULL, &trial->on_error, &err));
    if (preprocess_options_read(root, &options, &err) == WEIR_OK)
        trial->sample_bytes_max = options.batch.sample_bytes_max;
    trial->bytes_node = weir_yaml_get(section, "batch");
}

/* Checks the orders that operators may run in, and adds to each dataset that is shown how many were tried. */
static void check_orders(const struct trial *trial, const struct weir_yaml_node *root,
                         const struct looked *looked, json_t *shown)
{
    struct weir_error err;
    struct preprocess_options options;
    if (preprocess_options_read(root, &options, &err) != WEIR_OK) /* others complain */
        return;
    preprocess_nearly_check(trial, &options.plan, options.plan_node, looked->datasets,
                            looked->count);
    size_t tried = json_array_size(shown) > 0 && options.plan.order != PREPROCESS_AS_WRITTEN
                       ? preprocess_orders_check(trial, looked->datasets, looked->count)
                       : 0;
    for (size_t i = 0; i < json_array_size(shown); i++)
        json_object_set_new(json_array_get(shown, i), "orders", json_integer((json_int_t)tried));
}

/* Plans the operators on the columns that were found, and tries them. NULL: they cannot be planned. */
static json_t *look_at(const struct weir_look *look, const json_t *found, struct looked *looked)
{
    CFG_AUTO_COMPLAINTS told = {0}; /* by a check without data */
    struct trial trial = {.operators =
                              weir_yaml_get(weir_yaml_get(look->root, "preprocess"), "operators"),
                          .is_lenient = json_is_true(json_object_get(found, "before_run")),
                          .complaints = look->complaints};
    WEIR_AUTO_BUF columns = {0};
    bool has_columns = pack_columns(found, &columns);
    const struct weir_bytes packed = weir_buf_view(&columns);
    WEIR_AUTO(preprocess_tables)
    tables = preprocess_tables_read(look->root, has_columns ? &packed : NULL);
    WEIR_AUTO(chain) chain = NULL; /* borrows from them */
    if (!preprocess_options_check(look->root, &told))
        return NULL;
    if (!preprocess_chain_check(trial.operators, preprocess_tables_records(tables), &chain,
                                look->complaints))
        return NULL;
    read_limits(&trial, look->root);
    trial.chain = chain;
    json_t *all = try_chain(&trial, preprocess_tables_records(tables), looked);
    check_orders(&trial, look->root, looked, json_object_get(all, "shown"));
    return all;
}

void preprocess_look(const struct weir_look *look)
{
    struct looked looked = {0};
    json_t *found = json_loadb((const char *)look->found.at, look->found.size, 0, NULL);
    read_datasets(found, &looked);
    json_t *all = look_at(look, found, &looked);
    WEIR_AUTO_FREE char *text = all != NULL ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    weir_buf_append_text(look->out, text != NULL ? text : "");
    for (size_t i = 0; i < looked.count; i++)
        preprocess_records_fini(&looked.datasets[i]);
    json_decref(found);
}
