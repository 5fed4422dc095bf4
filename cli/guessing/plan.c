/* Choices that follow from the data: see plan.h. */
#include "cli/guessing/plan.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PERIODS_WANTED = 12, /* most models that the data are divided into */
    PARAMETERS_MAX = 20000000,
    CLASSES_LISTED_MAX = 50,
    PLENTY = 200000, /* samples of which one pass teaches much */
};

/* The shortest period of which at most PERIODS_WANTED lie in the span. */
static const char *period_for(struct cli_guess_span span)
{
    static const struct {
        const char *every;
        double seconds;
    } PERIODS[] = {
        {"1m", 60},           {"10m", 600},          {"1h", 3600},         {"6h", 21600},
        {"1d", 86400},        {"1w", 604800},        {"1 month", 2629746}, {"3 months", 7889238},
        {"1 year", 31556952}, {"5 years", 157784760}};
    double seconds = (double)(span.last_us - span.first_us) / 1e6;

    for (size_t i = 0; i < WEIR_COUNT(PERIODS); i++)
        if (seconds / PERIODS[i].seconds <= PERIODS_WANTED)
            return PERIODS[i].every;
    return "10 years";
}

static const struct cli_guess_column *label_of(const struct cli_guess *guess)
{
    return guess->is_table ? &guess->table.columns[guess->roles.label] : NULL;
}

static enum cli_guess_model model_for(const struct cli_guess *guess, enum cli_guess_task task)
{
    const size_t *used = guess->roles.used;

    if (!guess->is_table)
        return guess->folder.kind == CLI_GUESS_TEXTS ? CLI_GUESS_TEXT_BAG : CLI_GUESS_LINEAR;
    if (used[CLI_GUESS_CATEGORY] + used[CLI_GUESS_TEXT] == 0)
        return CLI_GUESS_LINEAR;
    return used[CLI_GUESS_NUMBER] == 0 && used[CLI_GUESS_TEXT] > 0 && task != CLI_GUESS_AMOUNT
               ? CLI_GUESS_TEXT_BAG
               : CLI_GUESS_FM;
}

/* Factors learn single samples by heart when they see them often, unless weights decay. */
static unsigned epochs_for(uint64_t rows, const struct cli_guess_plan *plan)
{
    if (plan->model == CLI_GUESS_FM && plan->task != CLI_GUESS_AMOUNT && rows < 10 * PLENTY)
        return rows < PLENTY ? 3 : 2;
    return rows < PLENTY / 20 ? 10 : rows < PLENTY ? 5 : rows < 10 * PLENTY ? 2 : 1;
}

static uint64_t buckets_for(const struct cli_guess *guess, uint64_t outputs, unsigned factors)
{
    uint64_t buckets = guess->is_table && guess->roles.used[CLI_GUESS_TEXT] == 0 ? 65536 : 262144;

    while (buckets > 4096 && buckets * outputs * (factors + 1) > PARAMETERS_MAX)
        buckets /= 4;
    return buckets;
}

static double share_without(const struct cli_guess *guess, size_t column)
{
    const struct cli_guess_column *about;

    if (column == SIZE_MAX)
        return 0;
    about = &guess->table.columns[column];
    return 1 - (double)(about->values - (cli_guess_column_is_numeric(about) ? about->marked : 0)) /
                   (double)guess->table.rows;
}

/* Twice as many as were seen, where that is more than half of what a pipeline bears by default. */
static unsigned unreadable_share(const struct cli_guess *guess)
{
    double broken =
        (double)guess->table.broken / (double)(guess->table.rows + guess->table.broken + 1);
    double share;

    if (!guess->is_table)
        return 0;
    share =
        broken + share_without(guess, guess->roles.time) + share_without(guess, guess->roles.label);
    return share < 0.005 ? 0 : (unsigned)fmin(ceil(share * 200) + 1, 100);
}

static void plan_label(const struct cli_guess *guess, struct cli_guess_plan *plan)
{
    const struct cli_guess_column *label = label_of(guess);
    size_t classes =
        label != NULL ? cli_guess_column_distinct(label) : json_object_size(guess->folder.classes);

    plan->task = label != NULL  ? guess->roles.task
                 : classes == 2 ? CLI_GUESS_YES_OR_NO
                                : CLI_GUESS_CLASSES;
    plan->outputs = plan->task == CLI_GUESS_CLASSES ? classes : 1;
    plan->has_classes = plan->task != CLI_GUESS_AMOUNT && (label == NULL || guess->roles.are_named);
    plan->are_listed = classes <= CLASSES_LISTED_MAX && guess->is_whole;
}

struct cli_guess_plan cli_guess_plan_of(const struct cli_guess *guess)
{
    struct cli_guess_plan plan = {
        .every = guess->has_time ? period_for(guess->span) : NULL,
        .samples = guess->rows * 9 / 20 + 1, /* two triggers, the second a little before the end */
        .batch = guess->rows < PLENTY ? 64 : 256,
        .rate = guess->is_table || guess->folder.kind == CLI_GUESS_TEXTS ? 0.1 : 0.01,
        .unreadable = unreadable_share(guess),
    };

    plan_label(guess, &plan);
    plan.model = model_for(guess, plan.task);
    plan.epochs = epochs_for(guess->rows, &plan);
    plan.factors = plan.outputs > 10 ? 2 : 8;
    plan.buckets = buckets_for(guess, plan.outputs, plan.model == CLI_GUESS_FM ? plan.factors : 0);
    return plan;
}

bool cli_guess_has_calendar(const struct cli_guess *guess)
{
    const int64_t weeks_us = INT64_C(14) * 86400 * 1000000;
    const struct cli_guess_roles *roles = &guess->roles;

    return guess->is_table && roles->time != SIZE_MAX && roles->task == CLI_GUESS_AMOUNT &&
           guess->span.last_us - guess->span.first_us > weeks_us &&
           (!guess->table.is_json || roles->unit == NULL); /* it is read as a number there */
}

/* ---- classes ---- */

static int by_value(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    char *a_end, *b_end;
    double a_number = strtod(a, &a_end), b_number = strtod(b, &b_end);

    if (*a_end == '\0' && *b_end == '\0' && a_number != b_number)
        return a_number < b_number ? -1 : 1;
    return strcmp(a, b);
}

const char **cli_guess_classes(const struct cli_guess *guess)
{
    const struct cli_guess_column *label = label_of(guess);
    json_t *names = label != NULL ? label->distinct : guess->folder.classes;
    const char **list = weir_calloc(json_object_size(names) + 1, sizeof(*list)), *name;
    size_t count = 0;
    json_t *times;

    json_object_foreach(names, name, times)
    {
        list[count++] = name;
    }
    qsort((void *)list, count, sizeof(*list), by_value);
    return list;
}
