/* The operators of a job, planned once. */
#include "preprocess/operators/chain_steps.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- planning ---- */

static void remove_column(struct chain_draft *draft, size_t index)
{
    size_t behind = --draft->schema.count - index;
    memmove(&draft->schema.column[index], &draft->schema.column[index + 1],
            behind * sizeof(draft->schema.column[0]));
    memmove(&draft->behind_fit[index], &draft->behind_fit[index + 1],
            behind * sizeof(draft->behind_fit[0]));
    memmove(&draft->schema.is_read[index], &draft->schema.is_read[index + 1],
            behind * sizeof(draft->schema.is_read[0]));
    memmove(&draft->slot[index], &draft->slot[index + 1], behind * sizeof(draft->slot[0]));
}

/* From the highest down, so that those still to come keep their places. */
static int compare_down(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

static enum weir_status adopt_outputs(struct chain_step *step, struct chain_draft *draft,
                                      struct weir_error *err)
{
    struct operator_plan *plan = &step->plan;
    bool is_late = step->behind_fit || step->op->fit != NULL;
    weir_require(plan->outputs <= OPERATOR_OUTPUTS_MAX && plan->more_count < COLUMNS_MAX);
    if (step->op->fit != NULL && step->op->fit->bound != NULL)
        plan->output[0].bounded_by = (uint8_t)(step->written + 1);
    for (size_t i = 0; i < plan->outputs; i++) {
        bool is_in_place =
            i == 0 && !step->op->reads_records && !step->op->reads_no_column && !plan->keeps;
        int place = is_in_place ? plan->in : (int)draft->schema.count;
        enum weir_status status =
            preprocess_operator_schema_replace(&draft->schema, place, &plan->output[i], err);
        if (status != WEIR_OK)
            return status;
        if (!is_in_place)
            draft->slot[place] = draft->source != NULL ? step->makes[i] : (uint8_t)draft->slots++;
        step->own[i].about = plan->output[i];
        step->places[i] = place;
        step->makes[i] = draft->slot[place];
        draft->behind_fit[place] = is_late;
        draft->schema.is_read[place] = false;
    }
    step->columns = draft->schema.count - (plan->keeps ? 0 : plan->more_count);
    return WEIR_OK;
}

/* The columns that it takes away besides its first. */
static void drop_more(const struct chain_step *step, struct chain_draft *draft)
{
    int places[COLUMNS_MAX];
    memcpy(places, step->plan.more, sizeof(places));
    qsort(places, step->plan.more_count, sizeof(places[0]), compare_down);
    for (size_t i = 0; i < step->plan.more_count && !step->plan.keeps; i++)
        remove_column(draft, (size_t)places[i]);
}

static enum weir_status plan_fit(struct chain *chain, struct chain_step *step,
                                 const struct chain_draft *draft, struct weir_error *err)
{
    if (step->op->fit == NULL)
        return WEIR_OK;
    if (step->behind_fit && !chain_is_given(step))
        return weir_fail(err, WEIR_INVALID,
                         "column %s is made by a fitted operator, and all are fitted in one pass: "
                         "expected a column that comes before",
                         draft->schema.column[step->plan.in].name);
    if (chain->fitted == CHAIN_FITTED_MAX)
        return weir_fail(err, WEIR_LIMIT, "more than %d fitted operators", CHAIN_FITTED_MAX);
    if (step->op->fit->classify != NULL && chain->classifies != NULL)
        return weir_fail(err, WEIR_INVALID, "there is one already, expected one of a chain");
    if (step->op->fit->classify != NULL)
        chain->classifies = step;
    chain->fitted++;
    chain->folding += !chain_is_given(step);
    step->behind_fit = step->behind_fit || chain_is_given(step);
    return WEIR_OK;
}

/* The payload is left where it lies as long as all who read it can bear that. */
static void note_reading(struct chain *chain, const struct chain_step *step,
                         struct chain_draft *draft)
{
    if (step->op->reads_no_column)
        return;
    if (step->plan.in == 0 && !draft->is_used)
        chain->copies_payload = chain->copies_payload || !step->op->in_place;
    if (step->op->reads_records) {
        draft->schema.is_read[step->plan.in] = true;
    } else if (step->plan.in == 0 && step->plan.outputs > 0) {
        draft->is_used = true;
        draft->schema.records = NULL;
    }
}

/* Notes the slots that a step reads: the same ones in any order. */
static enum weir_status note_slots(struct chain_step *step, const struct chain_draft *draft,
                                   struct weir_error *err)
{
    const struct operator_plan *plan = &step->plan;
    uint8_t reads[COLUMNS_MAX] = {step->op->reads_no_column ? 0 : draft->slot[plan->in]};
    for (size_t i = 0; i < plan->more_count; i++)
        reads[i + 1] = draft->slot[plan->more[i]];
    if (draft->source != NULL && memcmp(reads, step->reads, sizeof(reads)) != 0)
        return weir_fail(err, WEIR_INVALID, "reads other columns there");
    memcpy(step->reads, reads, sizeof(reads));
    return WEIR_OK;
}

static enum weir_status plan_columns(struct chain *chain, struct chain_step *step,
                                     struct chain_draft *draft, struct weir_error *err)
{
    enum weir_status status =
        step->op->plan(step->state, step->options, &draft->schema, &step->plan, err);
    if (status == WEIR_OK)
        status = note_slots(step, draft, err);
    if (status != WEIR_OK)
        return status;
    step->behind_fit = !step->op->reads_no_column && draft->behind_fit[step->plan.in];
    for (size_t i = 0; i < step->plan.more_count; i++)
        step->behind_fit = step->behind_fit || draft->behind_fit[step->plan.more[i]];
    status = plan_fit(chain, step, draft, err);
    if (status != WEIR_OK)
        return status;
    note_reading(chain, step, draft);
    status = adopt_outputs(step, draft, err);
    if (status == WEIR_OK)
        drop_more(step, draft);
    memcpy(step->slots, draft->slot, sizeof(step->slots));
    return status;
}

static enum weir_status check_place(const struct chain *chain, const struct preprocess_operator *op,
                                    struct weir_error *err)
{
    if (chain->steps > 0 && chain->step[chain->steps - 1].op->by_batch)
        return weir_fail(err, WEIR_INVALID, "stands behind %s, expected nothing behind it",
                         chain->step[chain->steps - 1].op->name);
    if (op->may_wait && chain->folding > 0)
        return weir_fail(err, WEIR_INVALID,
                         "stands behind an operator that is fitted, expected it in front");
    return WEIR_OK;
}

/* Has an operator that runs in another place read the column that it reads as written. */
static void direct(struct chain_step *step, const struct chain_draft *draft)
{
    const struct chain *source = draft->source;
    const struct chain_step *as_written = &source->step[source->running[step->written]];
    const struct cfg_key *key = step->op->options;
    memcpy(step->reads, as_written->reads, sizeof(step->reads));
    memcpy(step->makes, as_written->makes, sizeof(step->makes));
    int place = chain_find_slot(draft->slot, draft->schema.count, step->reads[0]);
    while (key->name != NULL && !(weir_str_equal(key->name, "on") && key->kind == CFG_KIND_TEXT))
        key++;
    if (key->name == NULL || place < 0 || step->op->reads_no_column)
        return;
    memcpy(step->on, draft->schema.column[place].name, sizeof(step->on));
    *(const char **)(void *)((char *)step->options + key->offset) = step->on;
}

enum weir_status preprocess_chain_plan_step(struct chain *chain, size_t written,
                                            struct chain_draft *draft, struct weir_error *err)
{
    struct chain_step *step = &chain->step[chain->steps];
    const struct weir_yaml_node *node = weir_yaml_at(chain->operators, written);
    struct cfg_opened opened = {0};
    struct weir_error reason;
    enum weir_status status =
        cfg_plugin_open(&PREPROCESS_OPERATORS, NULL, node, "preprocess.operators", &opened, err);
    if (status != WEIR_OK)
        return status;
    step->op = (const struct preprocess_operator *)opened.plugin;
    status = check_place(chain, step->op, &reason);
    step->options = opened.options;
    step->state = weir_calloc(1, step->op->state_size + 1);
    step->written = written;
    chain->running[written] = (uint8_t)chain->steps++;
    if (draft->source != NULL)
        direct(step, draft);
    if (status == WEIR_OK)
        status = plan_columns(chain, step, draft, &reason);
    if (status != WEIR_OK)
        return weir_yaml_fail(node, err, "preprocess.operators: %s: %s", step->op->name,
                              reason.text);
    return WEIR_OK;
}

/* True when nothing of the sample is wanted but its event time. */
static bool is_timed_alone(const struct chain *chain, const struct chain_draft *draft,
                           size_t column)
{
    return column == 0 && !draft->is_used && preprocess_chain_reads_times(chain);
}

/* Chooses the columns that leave: all that are numbers, and no record that was read. */
static enum weir_status plan_end(struct chain *chain, const struct chain_draft *draft,
                                 const struct weir_yaml_node *operators, struct weir_error *err)
{
    for (size_t i = 0; i < draft->schema.count; i++) {
        const struct column_about *about = &draft->schema.column[i];
        bool is_tensor = about->kind == COLUMN_DENSE || about->kind == COLUMN_RAGGED;
        if (is_tensor)
            chain->leaving[chain->columns++] = i;
        if (is_tensor || draft->schema.is_read[i] || is_timed_alone(chain, draft, i))
            continue;
        return weir_yaml_fail(
            operators, err,
            "preprocess.operators: the last one leaves column '%s' of %s, "
            "expected numbers: add an operator that makes a tensor of it%s",
            about->name, preprocess_column_kind_name(about->kind),
            about->kind == COLUMN_PICTURES
                ? " (resize or a crop gives them one size, to_ragged keeps theirs)"
                : "");
    }
    return WEIR_OK;
}

/* Partial fits of all operators go into one message. */
static enum weir_status check_partials(const struct chain *chain,
                                       const struct weir_yaml_node *operators,
                                       struct weir_error *err)
{
    for (size_t i = 0; i < chain->steps; i++) {
        const struct chain_step *step = &chain->step[i];
        if (step->plan.partial_bytes > chain_partial_bytes_max(chain))
            return weir_yaml_fail(
                weir_yaml_at(operators, i), err,
                "preprocess.operators: %s: %u numbers of column %s take %zu bytes to "
                "fit, expected at most %zu: make them fewer first",
                step->op->name, step->plan.output[0].width, step->plan.output[0].name,
                step->plan.partial_bytes, chain_partial_bytes_max(chain));
    }
    return WEIR_OK;
}

static uint64_t row_bytes_of(const struct chain *chain)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < chain->columns; i++) {
        const struct column_about *about = &chain->about[i];
        if (about->kind == COLUMN_DENSE)
            bytes += about->width * weir_dtype_bytes(about->type);
    }
    return bytes;
}

/* Marks the columns that are read later, or leave. */
static void find_wanted(struct chain *chain)
{
    bool wanted[CHAIN_SLOTS_MAX] = {false};
    for (size_t i = 0; i < chain->columns; i++)
        wanted[chain->step[chain->steps - 1].slots[chain->leaving[i]]] = true;
    for (size_t i = chain->steps; i-- > 0;) {
        struct chain_step *step = &chain->step[i];
        for (size_t k = 0; k < step->columns; k++)
            step->is_wanted[k] = wanted[step->slots[k]];
        for (size_t k = 0; k <= step->plan.more_count; k++)
            wanted[step->reads[k]] = true;
    }
}

/* Notes what is left to the consumer. */
static void leave_steps(struct chain *chain)
{
    for (size_t i = chain->steps - chain->sunk; i < chain->steps; i++) {
        const struct chain_step *step = &chain->step[i];
        uint32_t tensor = 0;
        while (tensor < chain->columns && chain->leaving[tensor] != (size_t)step->places[0])
            tensor++;
        if (step->is_absorbed)
            continue;
        weir_require(tensor < chain->columns);
        chain->left.of[chain->left.count] = *step->op->step(step->state);
        chain->left.of[chain->left.count++].tensor = tensor;
    }
}

void preprocess_chain_end(struct chain *chain, const struct chain_draft *draft)
{
    for (size_t i = 0; i < chain->columns; i++)
        chain->about[i] = draft->schema.column[chain->leaving[i]];
    chain->row_bytes = row_bytes_of(chain);
    chain->end = chain->steps - chain->sunk;
    find_wanted(chain);
    preprocess_chain_absorb(chain, draft);
    leave_steps(chain);
    preprocess_chain_cut_plan(chain);
}

struct chain *preprocess_chain_make(const struct weir_yaml_node *operators,
                                    const struct operator_records *records)
{
    struct chain *chain = weir_calloc(1, sizeof(*chain));
    chain->operators = operators;
    chain->records = records;
    chain->piece_bytes = CHAIN_PIECE_BYTES;
    chain->arena = weir_arena_new();
    chain->payload.about = preprocess_column_about("payload", COLUMN_BYTES, 0, 0);
    return chain;
}

struct chain_draft preprocess_chain_draft_of(const struct chain *chain)
{
    return (struct chain_draft){.schema = {.count = 1,
                                           .column = {chain->payload.about},
                                           .records = chain->records,
                                           .arena = chain->arena},
                                .slots = 1};
}

enum weir_status preprocess_chain_new(const struct weir_yaml_node *operators,
                                      const struct operator_records *records,
                                      struct chain **ret_chain, struct weir_error *err)
{
    size_t count = weir_yaml_length(operators);
    if (count == 0 || count > CHAIN_OPERATORS_MAX)
        return weir_yaml_fail(operators, err, "preprocess.operators: found %zu, expected 1 to %d",
                              count, CHAIN_OPERATORS_MAX);
    WEIR_AUTO(chain) chain = preprocess_chain_make(operators, records);
    struct chain_draft draft = preprocess_chain_draft_of(chain);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = preprocess_chain_plan_step(chain, i, &draft, err);
    if (status == WEIR_OK)
        status = check_partials(chain, operators, err);
    if (status == WEIR_OK)
        status = plan_end(chain, &draft, operators, err);
    if (status == WEIR_OK) {
        preprocess_chain_end(chain, &draft);
        *ret_chain = WEIR_TAKE(chain);
    }
    return status;
}

bool preprocess_chain_check(const struct weir_yaml_node *operators,
                            const struct operator_records *records, struct chain **ret_chain,
                            struct cfg_complaints *all)
{
    struct weir_error err;
    if (cfg_note(all, preprocess_chain_new(operators, records, ret_chain, &err), &err))
        return true;
    WEIR_AUTO(chain) chain = preprocess_chain_make(operators, records);
    struct chain_draft draft = preprocess_chain_draft_of(chain);
    for (size_t i = 0; i < weir_yaml_length(operators) && i < CHAIN_OPERATORS_MAX; i++) {
        bool is_planned = preprocess_chain_plan_step(chain, i, &draft, &err) == WEIR_OK;
        const struct preprocess_operator *op =
            chain->steps > 0 ? chain->step[chain->steps - 1].op : NULL;
        if (!is_planned && op != NULL && (op->reads_records || op->reads_no_column))
            cfg_note(all, WEIR_INVALID, &err);
    }
    return false;
}

void preprocess_chain_free(struct chain *chain)
{
    if (chain == NULL)
        return;
    for (size_t i = 0; i < chain->steps; i++) {
        struct chain_step *step = &chain->step[i];
        if (step->op->fini != NULL)
            step->op->fini(step->state);
        for (size_t k = 0; k < OPERATOR_OUTPUTS_MAX; k++)
            preprocess_column_fini(&step->own[k]);
        weir_buf_fini(&step->inherited);
        free(step->options);
        free(step->state);
    }
    preprocess_column_fini(&chain->payload);
    weir_arena_free(chain->arena);
    weir_buf_fini(&chain->flags);
    preprocess_chain_rows_fini(&chain->rows);
    preprocess_chain_cut_fini(&chain->cut);
    free(chain);
}

size_t preprocess_chain_outputs(const struct chain *chain)
{
    return chain->columns;
}

struct column *preprocess_chain_output(struct chain *chain, size_t index)
{
    weir_require(index < chain->columns);
    return chain->column[chain->leaving[index]];
}

const struct column_about *preprocess_chain_output_about(const struct chain *chain, size_t index)
{
    weir_require(index < chain->columns);
    return &chain->about[index];
}

/* The fitted operator that bounds the integers of an output, or NULL. */
static const struct chain_step *bounding(const struct chain *chain, size_t index)
{
    const struct column_about *about = preprocess_chain_output_about(chain, index);
    return about->bounded_by > 0 ? &chain->step[chain->running[about->bounded_by - 1]] : NULL;
}

uint64_t preprocess_chain_output_below(const struct chain *chain, size_t index)
{
    const struct chain_step *step = bounding(chain, index);
    return step != NULL ? step->below : preprocess_chain_output_about(chain, index)->below;
}

uint64_t preprocess_chain_output_below_before(const struct chain *chain, size_t index)
{
    const struct chain_step *step = bounding(chain, index);
    return step != NULL ? step->below_before : 0;
}

uint64_t preprocess_chain_row_bytes(const struct chain *chain)
{
    return chain->row_bytes;
}

bool preprocess_chain_reads_times(const struct chain *chain)
{
    size_t i = 0;
    while (i < chain->steps && !chain->step[i].op->reads_times)
        i++;
    return i < chain->steps;
}

bool preprocess_chain_repairs(const struct chain *chain)
{
    size_t i = 0;
    while (i < chain->steps && !chain->step[i].op->repairs)
        i++;
    return i < chain->steps;
}

size_t preprocess_chain_operators(const struct chain *chain)
{
    return chain->steps;
}

struct chain_cost preprocess_chain_cost(const struct chain *chain, size_t written)
{
    const struct chain_step *step = &chain->step[chain->running[written]];
    return (struct chain_cost){
        .name = step->op->name,
        .spent_ns = step->spent_ns,
        .programs_ns = step->op->programs_ns != NULL ? step->op->programs_ns(step->state) : 0,
        .taken = step->taken,
        .bytes = step->bytes,
        .rows = step->rows,
        .failed = step->failed,
        .filtered = step->filtered,
        .warnings = step->warnings,
        .reason = step->reason,
    };
}
