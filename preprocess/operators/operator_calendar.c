/* calendar: a time → dense f32 `calendar`: parts of it on the clocks of a zone (hour, weekday, holiday, …) as numbers,
 * then places of parts on a circle, a sine and a cosine each, then parts as rows of zeros and a one. */
#include "core/base/memory.h"
#include "core/base/shape.h"
#include "core/config/written_time.h"
#include "preprocess/operators/calendar.h"
#include "preprocess/operators/number.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <stdlib.h>

enum { PARTS_MAX = 32 };

struct options {
    const char *on;
    const struct weir_yaml_node *pattern, *zone;
    int unit;
    struct cfg_texts fields, cyclic, one_hot;
    const struct weir_yaml_node *holidays;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(
        struct options, on,
        .doc =
            "column of times: text, or a whole number each; by default the newest of text or dense"),
    CFG_NODE(
        struct options, pattern,
        .doc =
            "form of the text, as time.pattern of a dataset, or several; by default RFC 3339, or a "
            "number"),
    CFG_NODE(
        struct options, zone,
        .doc =
            "name of a time zone, by whose clocks a text is read that names none, and the parts are "
            "told; by default UTC"),
    CFG_CHOICE(struct options, unit, .fallback = "s", .choices = WEIR_TIME_UNITS,
               .doc = "what numbers count since 1970; excel: days, as spreadsheets do"),
    CFG_TEXTS(
        struct options, fields,
        .doc =
            "parts as numbers: minute, hour, weekday (0: Monday), hour_of_week (0: Monday, "
            "midnight), weekend, holiday (0 or 1), day, day_of_year, month, quarter (from 1), year"),
    CFG_TEXTS(struct options, cyclic,
              .doc = "parts as a sine and a cosine each, so that the last is beside the first"),
    CFG_TEXTS(struct options, one_hot, .doc = "parts as a 1 among zeros each"),
    CFG_NODE(struct options, holidays,
             .doc = "list of days that are holidays: 2024-12-25, or 12-25 for each year"),
    CFG_TEXT(struct options, as, .fallback = "calendar", .doc = "name of the tensor"),
    CFG_END,
};

enum form { AS_NUMBER, AS_CYCLE, AS_ONE_HOT };

/* A part, and how it is told. */
struct told {
    const struct calendar_part *part;
    enum form form;
    struct calendar_place *circle; /* of each number, AS_CYCLE; owned */
};

struct state {
    struct weir_written_time written;
    struct calendar_holidays holidays;
    enum weir_time_unit unit;
    struct column_about about; /* of the column it reads */
    struct told told[PARTS_MAX];
    size_t count, width;
};

/* ---- planning ---- */

static struct calendar_place *circle_of(const struct calendar_part *part)
{
    struct calendar_place *circle = weir_calloc((size_t)part->count, sizeof(*circle));
    for (int32_t i = 0; i < part->count; i++)
        circle[i] = preprocess_calendar_place(i, part->count);
    return circle;
}

static size_t width_of(const struct told *told)
{
    static const size_t WIDTHS[] = {[AS_NUMBER] = 1, [AS_CYCLE] = 2};
    return told->form == AS_ONE_HOT ? (size_t)told->part->count : WIDTHS[told->form];
}

static enum weir_status refuse_part(const struct weir_yaml_node *node, enum form form,
                                    struct weir_error *err)
{
    WEIR_AUTO_BUF names = {0};
    const char *name = weir_yaml_text(node);
    preprocess_calendar_names(&names);
    return weir_yaml_fail(node, err, "found '%s', expected %s%s", name != NULL ? name : "",
                          form != AS_NUMBER ? "one that comes round again, of " : "one of ",
                          weir_buf_text(&names));
}

static enum weir_status plan_parts(struct state *state, const struct cfg_texts *names,
                                   enum form form, struct weir_error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(names->node, i);
        const struct calendar_part *part = preprocess_calendar_part(weir_yaml_text(node));
        if (part == NULL || (form != AS_NUMBER && part->count == 0))
            return refuse_part(node, form, err);
        if (state->count == PARTS_MAX)
            return weir_yaml_fail(node, err, "more than %d parts", PARTS_MAX);
        struct told *told = &state->told[state->count++];
        *told = (struct told){part, form, form == AS_CYCLE ? circle_of(part) : NULL};
        state->width += width_of(told);
    }
    return WEIR_OK;
}

static enum weir_status plan_all_parts(struct state *state, const struct options *options,
                                       struct weir_error *err)
{
    enum weir_status status = plan_parts(state, &options->fields, AS_NUMBER, err);
    if (status == WEIR_OK)
        status = plan_parts(state, &options->cyclic, AS_CYCLE, err);
    if (status == WEIR_OK)
        status = plan_parts(state, &options->one_hot, AS_ONE_HOT, err);
    if (status == WEIR_OK && state->count == 0)
        status = weir_fail(err, WEIR_INVALID,
                           "found no parts, expected fields, cyclic or one_hot: [hour, …]");
    return status;
}

static enum weir_status plan_input(struct state *state, const struct options *options,
                                   const struct operator_schema *schema, int *ret_column,
                                   struct weir_error *err)
{
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, 1u << COLUMN_BYTES | 1u << COLUMN_TEXT | 1u << COLUMN_DENSE,
        ret_column, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[*ret_column];
    state->about = *about;
    if (about->kind == COLUMN_DENSE &&
        (about->width != 1 || (OPERATOR_INTEGERS & 1u << about->type) == 0))
        return weir_fail(err, WEIR_INVALID,
                         "column %s holds %u numbers of type %s, expected one, an integer",
                         about->name, about->width, weir_dtype_name(about->type));
    return WEIR_OK;
}

/* "hour", "hour sine" and "hour cosine", "hour = 7". */
static const char *const *name_elements(const struct state *state, struct weir_arena *arena)
{
    const char **elements = weir_arena_alloc(arena, state->width * sizeof(*elements));
    size_t at = 0;
    for (size_t i = 0; i < state->count; i++) {
        const struct told *told = &state->told[i];
        const char *part = told->part->name;
        for (size_t k = 0; k < width_of(told); k++)
            elements[at++] =
                told->form == AS_NUMBER ? part
                : told->form == AS_CYCLE
                    ? weir_arena_format(arena, "%s %s", part, k == 0 ? "sine" : "cosine")
                    : weir_arena_format(arena, "%s = %d", part, told->part->first + (int)k);
    }
    return elements;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    state->unit = (enum weir_time_unit)options->unit;
    enum weir_status status = plan_input(state, options, schema, &ret_plan->in, err);
    if (status == WEIR_OK)
        status = weir_written_time_declared(&state->written, options->pattern, options->zone,
                                            "calendar", err);
    if (status == WEIR_OK)
        status = preprocess_calendar_read_holidays(options->holidays, &state->holidays, err);
    if (status == WEIR_OK)
        status = plan_all_parts(state, options, err);
    if (status != WEIR_OK)
        return status;
    status = preprocess_operator_plan_output(ret_plan, options->as, COLUMN_DENSE, WEIR_F32,
                                             (uint32_t)state->width, err);
    ret_plan->output[0].elements = name_elements(state, schema->arena);
    return status;
}

static void fini(void *owner)
{
    struct state *state = owner;
    for (size_t i = 0; i < state->count; i++)
        free(state->told[i].circle);
    free(state->holidays.days);
    weir_written_time_fini(&state->written);
}

/* ---- applying ---- */

static bool read_text(const struct state *state, struct weir_bytes text, int64_t *ret_time_us)
{
    double number;
    if (weir_written_time_read(&state->written, text, ret_time_us))
        return true;
    return state->written.count == 0 && preprocess_number_read(text, &number) &&
           weir_written_time_of_real(&state->written, number, state->unit, ret_time_us);
}

static bool read_time(const struct state *state, const struct column *in, size_t row,
                      int64_t *ret_time_us)
{
    if (in->about.kind != COLUMN_DENSE)
        return read_text(state, column_row(in, row), ret_time_us);
    int64_t number = weir_element_get_integer(in->about.type, in->values.at, row);
    return state->unit == WEIR_TIME_SERIAL_DAYS
               ? weir_written_time_of_real(&state->written, (double)number, state->unit,
                                           ret_time_us)
               : weir_written_time_of_integer(number, state->unit, ret_time_us);
}

/* Marks the row: the text may be about a person, so its form is shown. */
static void refuse(const struct state *state, struct operator_call *call, size_t row)
{
    char shape[WEIR_SHAPE_MAX + 1];
    const char *expected = state->written.count > 0
                               ? state->written.pattern[0].text
                               : "RFC 3339 like 2002-08-22T11:36:23Z, or a number";
    if (call->in->about.kind == COLUMN_DENSE) {
        preprocess_operator_fail_row(call, row, "%s: found a number that is no time",
                                     state->about.name);
        return;
    }
    weir_shape(column_row(call->in, row), shape);
    preprocess_operator_fail_row(
        call, row, "%s: found \"%s\" (9: a digit, A and a: letters), expected a time: %s%s",
        state->about.name, shape, expected,
        weir_written_time_has_form(&state->written, column_row(call->in, row))
            ? "; the form is right, but there is no such day or hour"
            : "");
}

static float *tell(const struct told *told, int32_t number, float *to)
{
    int32_t place = number - told->part->first;
    switch (told->form) {
    case AS_NUMBER:
        to[0] = (float)number;
        break;
    case AS_CYCLE:
        to[0] = told->circle[place].sine;
        to[1] = told->circle[place].cosine;
        break;
    case AS_ONE_HOT:
        to[place] = 1;
        break;
    }
    return to + width_of(told);
}

static void read_row(void *owner, struct operator_call *call, size_t row, float *to)
{
    const struct state *state = owner;
    struct calendar_time time;
    int64_t time_us;
    bool is_read = read_time(state, call->in, row, &time_us) &&
                   !__builtin_add_overflow(
                       time_us, weir_written_time_ahead_us(&state->written, time_us), &time_us) &&
                   preprocess_calendar_break_down(time_us, &time);
    if (!is_read) {
        refuse(state, call, row);
        return;
    }
    for (size_t i = 0; i < state->count; i++)
        to = tell(&state->told[i], state->told[i].part->of(&time, &state->holidays), to);
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_numbers(owner, call, ((const struct state *)owner)->width, read_row);
}

const struct preprocess_operator preprocess_operator_calendar = {
    .name = "calendar",
    .summary = "hour, weekday, holiday and other parts of a time",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
