/* See nearly.h. */
#include "preprocess/preview/nearly.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/plan/ordering.h"

#include <math.h>

enum { PERCENT = 100 };

/* One tensor of both orders. */
struct compared {
    double differences; /* sum of squares */
    double sum, squares;
    double count;
};

struct comparison {
    struct trial written, nearly;
    struct compared of[COLUMNS_MAX];
    size_t rows; /* rows that came through in one order alone, or in another shape */
};

static size_t end_of(const struct column *column, size_t row)
{
    return column->about.kind == COLUMN_DENSE ? (row + 1) * column->about.width
                                              : column_offsets(column)[row + 1];
}

static size_t first_of(const struct column *column, size_t row)
{
    return column->about.kind == COLUMN_DENSE ? row * column->about.width
                                              : column_offsets(column)[row];
}

/* Returns false when the rows have different lengths. */
static bool add_row(struct compared *compared, const struct column *one, const struct column *other,
                    size_t row)
{
    size_t first = first_of(one, row), other_first = first_of(other, row);
    size_t count = end_of(one, row) - first;
    if (count != end_of(other, row) - other_first)
        return false;
    for (size_t i = 0; i < count; i++) {
        double a = weir_element_get(one->about.type, one->values.at, first + i);
        double b = weir_element_get(other->about.type, other->values.at, other_first + i);
        compared->differences += (a - b) * (a - b);
        compared->sum += a;
        compared->squares += a * a;
    }
    compared->count += (double)count;
    return true;
}

static void compare_rows(struct comparison *comparison, const struct records *records, size_t first,
                         size_t count)
{
    struct chain *one = comparison->written.chain, *other = comparison->nearly.chain;
    const uint8_t *flags = preprocess_trial_run_rows(&comparison->written, records, first, count);
    const uint8_t *others = preprocess_trial_run_rows(&comparison->nearly, records, first, count);
    for (size_t row = 0; row < count; row++) {
        bool is_same = flags[row] == others[row];
        for (size_t i = 0;
             is_same && flags[row] == OPERATOR_ROW_OK && i < preprocess_chain_outputs(one); i++)
            is_same = add_row(&comparison->of[i], preprocess_chain_output(one, i),
                              preprocess_chain_output(other, i), row);
        comparison->rows += !is_same;
    }
}

static double change_of(const struct compared *compared)
{
    if (compared->count == 0 || compared->differences == 0)
        return 0;
    double mean = compared->sum / compared->count;
    double variance = compared->squares / compared->count - mean * mean;
    double change = sqrt(compared->differences / compared->count);
    return variance > 0 ? change / sqrt(variance) : INFINITY;
}

static void complain(const struct comparison *comparison, const struct preprocess_planned *planned,
                     const struct weir_yaml_node *node)
{
    struct cfg_complaints *complaints = comparison->written.complaints;
    for (size_t i = 0; i < preprocess_chain_outputs(comparison->written.chain); i++) {
        double change = change_of(&comparison->of[i]);
        if (change > planned->tolerance)
            cfg_note_at(complaints, WEIR_INVALID, node,
                        "preprocess.plan.order: approximate changes tensor '%s' by %.2g %% of its "
                        "deviation, expected at most %.2g %%: raise preprocess.plan.tolerance, or "
                        "say order: auto",
                        preprocess_chain_output(comparison->written.chain, i)->about.name,
                        PERCENT * change, PERCENT * planned->tolerance);
    }
    if (comparison->rows > 0)
        cfg_note_at(complaints, WEIR_INVALID, node,
                    "preprocess.plan.order: approximate lets other samples through, or makes them "
                    "of another size, %zu of those looked at: say order: auto",
                    comparison->rows);
}

void preprocess_nearly_check(const struct trial *trial, const struct preprocess_planned *planned,
                             const struct weir_yaml_node *node, const struct records *datasets,
                             size_t count)
{
    struct weir_error err;
    WEIR_AUTO(chain) chain = NULL;
    if (planned->order != PREPROCESS_APPROXIMATE || trial->is_cut)
        return;
    if (!cfg_note(trial->complaints, preprocess_ordering_nearly(trial->chain, &chain, &err),
                  &err) ||
        chain == NULL)
        return;
    struct comparison comparison = {.written = *trial, .nearly = *trial};
    comparison.nearly.chain = chain;
    comparison.written.trains = comparison.nearly.trains = true; /* chance is a part of it */
    preprocess_trial_fit(&comparison.nearly, datasets, count);
    if (comparison.nearly.is_cut)
        return; /* as the order as written, of which the trial complains */
    for (size_t i = 0; i < count; i++) {
        for (size_t first = 0; first < datasets[i].count; first += TRIAL_ROWS_MAX)
            compare_rows(&comparison, &datasets[i], first,
                         preprocess_trial_rows_from(&datasets[i], first));
    }
    complain(&comparison, planned, node);
}
