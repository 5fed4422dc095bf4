/* event_time: the event time of each sample → dense i64 `time`, one number. It is what its dataset declares as `time`,
 * wherever that stands: in a record, in the name of a file, beside it. */
#include "preprocess/operators/operator.h"

#include "core/base/number.h"
#include "core/wire/sample.h"

enum unit { SECONDS, MILLISECONDS, MICROSECONDS };
static const char *const UNITS[] = {"s", "ms", "us", NULL};
static const int64_t UNIT_US[] = {1000000, 1000, 1};

struct options {
    int unit;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct options, unit, .fallback = "s", .choices = UNITS,
               .doc = "what the number counts since 1970, whole ones"),
    CFG_TEXT(struct options, as, .fallback = "time", .doc = "name of the tensor"),
    CFG_END,
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    (void)schema;
    const struct options *options = given;
    *(int64_t *)owner = UNIT_US[options->unit];
    return preprocess_operator_plan_output(ret_plan, options->as, COLUMN_DENSE, WEIR_I64, 1, err);
}

/* Rows that are lent for a prediction are in no dataset. */
static bool is_timeless(const struct operator_call *call, size_t row)
{
    return call->batch->times == NULL ||
           (call->ids != NULL && weir_sample_dataset(call->ids[row]) == WEIR_DATASET_LENT);
}

static void apply(void *owner, struct operator_call *call)
{
    int64_t unit_us = *(const int64_t *)owner;
    struct weir_buf *values = &call->out[0].values;
    weir_buf_reserve(values, call->rows * sizeof(int64_t));
    values->size = call->rows * sizeof(int64_t);
    int64_t *to = (int64_t *)(void *)values->at;
    for (size_t row = 0; row < call->rows; row++) {
        to[row] = is_timeless(call, row) ? 0 : weir_divide_down(call->batch->times[row], unit_us);
        if (is_timeless(call, row))
            preprocess_operator_fail_row(call, row,
                                         "found a row that is not stored, which has no event time, "
                                         "expected the time in the record (calendar takes text)");
    }
}

const struct preprocess_operator preprocess_operator_event_time = {
    .name = "event_time",
    .summary = "the event time of a sample, as its dataset declares it",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(int64_t),
    .reads_no_column = true,
    .in_place = true,
    .reads_times = true,
    .plan = plan,
    .apply = apply,
};
