/* The cut of a chain: where it may be, and what the rows there depend on. */
#include "preprocess/operators/chain_steps.h"

#include <string.h>

size_t preprocess_chain_cut_at(const struct chain *chain)
{
    return chain->cut.end;
}

/* ---- where it may be ---- */

/* Returns why what an operator makes cannot be kept by sample; NULL: it can. */
static const char *reason_against(const struct chain_step *step)
{
    const struct preprocess_operator *op = step->op;
    if (((op->traits | step->plan.traits) & OPERATOR_VARIES) != 0)
        return "makes another row of the same record each time";
    if (op->may_wait)
        return "is a program, whose answers are not known to stay the same";
    if (op->by_batch)
        return "makes rows of several samples";
    if (op->reads_no_column || op->reads_times)
        return "reads what comes beside the record, which may change";
    return NULL;
}

static bool is_keepable(enum column_kind kind)
{
    return kind == COLUMN_DENSE || kind == COLUMN_RAGGED || kind == COLUMN_PICTURES;
}

/* Places are as written, for nothing has been moved. */
static enum weir_status find_place(const struct chain *chain, const char *after, size_t *ret_place,
                                   struct weir_error *err)
{
    size_t found = 0;
    for (size_t i = 0; i < chain->steps; i++) {
        if (!weir_str_equal(chain->step[i].op->name, after))
            continue;
        *ret_place = i;
        found++;
    }
    if (found == 1)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s stands %zu times among the operators, expected once",
                     after, found);
}

/* Returns the operator that reads no more pixels of what this one makes than it asks for; NULL: there is none. */
static const struct chain_step *asking(const struct chain *chain, size_t place)
{
    const struct chain_step *next = place + 1 < chain->steps ? &chain->step[place + 1] : NULL;
    return next != NULL && next->told != 0 && next->op->window != NULL ? next : NULL;
}

/* Pixels that are decoded for the operator behind are no one else's. */
static enum weir_status check_neighbours(const struct chain *chain, size_t place,
                                         struct weir_error *err)
{
    const struct chain_step *next = asking(chain, place);
    if (next == NULL)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "%s makes no more pixels than %s behind it reads: give it the option "
                     "`scale: never`, or cut after another operator",
                     chain->step[place].op->name, next->op->name);
}

static bool depends_on_records_alone(const struct chain *chain, size_t place)
{
    size_t i = 0;
    while (i <= place && reason_against(&chain->step[i]) == NULL)
        i++;
    return i > place;
}

bool preprocess_chain_makes_for_one(const struct chain *chain, size_t place)
{
    return asking(chain, place) != NULL && depends_on_records_alone(chain, place);
}

bool preprocess_chain_cut_parts(const struct chain *chain, size_t cut)
{
    size_t i = cut;
    while (i < chain->steps && !(chain->step[i].is_absorbed && chain->step[i].told <= cut))
        i++;
    return i < chain->steps;
}

static enum weir_status check_place(const struct chain *chain, size_t place, struct weir_error *err)
{
    for (size_t i = 0; i <= place; i++) {
        const char *reason = reason_against(&chain->step[i]);
        if (reason != NULL)
            return weir_fail(err, WEIR_INVALID, "%s %s: cut before it", chain->step[i].op->name,
                             reason);
    }
    return check_neighbours(chain, place, err);
}

/* Only numbers are kept: words stay in the files that an erasure searches anyway. */
static enum weir_status check_columns(const struct chain *chain, struct weir_error *err)
{
    const struct chain_cut *cut = &chain->cut;
    for (size_t i = 0; i < cut->columns; i++) {
        const struct column_about *about = &cut->whole[i].about;
        if (!is_keepable(about->kind))
            return weir_fail(err, WEIR_INVALID,
                             "column %s is %s there and is still read, expected numbers or "
                             "pictures: cut after another operator",
                             about->name, preprocess_column_kind_name(about->kind));
    }
    return WEIR_OK;
}

enum weir_status preprocess_chain_materialise(const struct chain *chain, const char *after,
                                              struct chain **ret_chain, struct weir_error *err)
{
    size_t place = 0;
    enum weir_status status = find_place(chain, after, &place, err);
    return status == WEIR_OK ? preprocess_chain_cut_after(chain, place + 1, ret_chain, err)
                             : status;
}

enum weir_status preprocess_chain_cut_after(const struct chain *chain, size_t cut,
                                            struct chain **ret_chain, struct weir_error *err)
{
    uint8_t order[CHAIN_OPERATORS_MAX];
    if (cut == 0 || cut > chain->steps)
        return weir_fail(err, WEIR_INVALID, "found a cut after %zu operators of %zu", cut,
                         chain->steps);
    enum weir_status status = check_place(chain, cut - 1, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(chain) other = NULL;
    preprocess_chain_order(chain, order);
    status = preprocess_chain_divide(chain, order, cut, &other, err);
    if (status == WEIR_OK)
        status = check_columns(other, err);
    if (status == WEIR_OK)
        *ret_chain = WEIR_TAKE(other);
    return status;
}

/* ---- planning ---- */

/* True when the operator takes one picture after the other, and hands it on to the next alone. */
static bool hands_on(const struct chain_step *step, const struct chain_step *next)
{
    return step->op->by_row && next->op->by_row && step->plan.outputs == 1 &&
           step->plan.output[0].kind == COLUMN_PICTURES && next->plan.in == step->places[0];
}

/* True when pictures pass the cut one by one: from the record on, there is nothing else. */
static bool is_in_run(const struct chain *chain)
{
    size_t i = 1;
    while (i <= chain->cut.end && i < chain->end && hands_on(&chain->step[i - 1], &chain->step[i]))
        i++;
    return i > chain->cut.end;
}

/* In the order of their slots, which is the same whatever ran first. */
static void add_column(struct chain_cut *cut, const struct chain_step *last, size_t column)
{
    size_t at = cut->columns++;
    for (; at > 0 && last->slots[cut->column[at - 1]] > last->slots[column]; at--)
        cut->column[at] = cut->column[at - 1];
    cut->column[at] = column;
}

/* Finds the step that makes a column as it is at the cut, and which of its outputs that is; NULL: it is the payload. */
static const struct chain_step *maker_of(const struct chain *chain, size_t column,
                                         size_t *ret_output)
{
    const struct chain_step *last = &chain->step[chain->cut.end - 1];
    for (const struct chain_step *step = last; step >= chain->step; step--) {
        for (*ret_output = 0; *ret_output < step->plan.outputs; (*ret_output)++) {
            if (step->makes[*ret_output] == last->slots[column] && !step->is_absorbed)
                return step;
        }
    }
    return NULL;
}

size_t preprocess_chain_cut_makers(const struct chain *chain, uint8_t ret_makers[COLUMNS_MAX])
{
    size_t count = 0, output;
    for (size_t i = 0; i < chain->cut.columns; i++) {
        const struct chain_step *step = maker_of(chain, chain->cut.column[i], &output);
        if (step != NULL && memchr(ret_makers, (int)step->written, count) == NULL)
            ret_makers[count++] = (uint8_t)step->written;
    }
    return count;
}

/* Restores nothing, as every run begins with the columns as they are made. */
static const struct column *column_at_cut(const struct chain *chain, size_t column)
{
    size_t output;
    const struct chain_step *step = maker_of(chain, column, &output);
    return step != NULL ? &step->own[output] : &chain->payload;
}

void preprocess_chain_cut_plan(struct chain *chain)
{
    struct chain_cut *cut = &chain->cut;
    if (cut->end == 0)
        return;
    const struct chain_step *last = &chain->step[cut->end - 1];
    for (size_t i = 0; i < last->columns; i++) {
        if (last->is_wanted[i])
            add_column(cut, last, i);
    }
    for (size_t i = 0; i < cut->columns; i++)
        cut->whole[i].about = column_at_cut(chain, cut->column[i])->about;
    cut->is_in_run = cut->columns == 1 && is_in_run(chain);
}

void preprocess_chain_cut_fini(struct chain_cut *cut)
{
    for (size_t i = 0; i < cut->columns; i++)
        preprocess_column_fini(&cut->whole[i]);
    weir_buf_fini(&cut->row);
}

/* ---- what the rows depend on ---- */

static void print_texts(const char *name, const char *const *texts, size_t count,
                        struct weir_buf *out)
{
    weir_buf_printf(out, "%s %zu:", name, count);
    for (size_t i = 0; i < count; i++)
        weir_buf_printf(out, " %zu %s", strlen(texts[i]), texts[i]);
    weir_buf_append_text(out, "\n");
}

static void print_records(const struct operator_records *records, struct weir_buf *out)
{
    if (records == NULL)
        return;
    weir_buf_printf(out, "table %s %d\n", records->dialect.delimiter, records->dialect.quotes);
    print_texts("columns", records->columns, records->column_count, out);
    print_texts("missing", records->missing, records->missing_count, out);
}

void preprocess_chain_cut_print(const struct chain *chain, struct weir_buf *out)
{
    for (size_t i = 0; i < chain->cut.end; i++) {
        const struct chain_step *step = &chain->step[chain->running[i]];
        weir_buf_printf(out, "%s %u\n", step->op->name, step->op->version);
        weir_yaml_print(weir_yaml_at(chain->operators, i), out);
        cfg_print(step->op->options, step->options, 2, out);
    }
    print_records(chain->records, out);
}

bool preprocess_chain_cut_is_fitted(const struct chain *chain)
{
    size_t i = 0;
    while (i < chain->cut.end && chain->step[i].op->fit == NULL)
        i++;
    return i < chain->cut.end;
}
