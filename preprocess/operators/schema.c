/* Columns that reach an operator, and rows that it gives up. */
#include "preprocess/operators/operator.h"

#include "core/base/utf8.h"

#include <stdarg.h>
#include <string.h>

/* Index of the column `name`, or -1. */
static int find_column(const struct operator_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->count; i++) {
        if (strcmp(schema->column[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

static void print_kinds(unsigned kinds, struct weir_buf *out)
{
    const char *between = "";
    for (unsigned kind = COLUMN_BYTES; kind <= COLUMN_PICTURES; kind++) {
        if ((kinds & 1u << kind) == 0)
            continue;
        weir_buf_printf(out, "%s%s", between, preprocess_column_kind_name(kind));
        between = " or ";
    }
}

static void print_columns(const struct operator_schema *schema, struct weir_buf *out)
{
    for (size_t i = 0; i < schema->count; i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        preprocess_column_about_print(&schema->column[i], out);
    }
    if (schema->count == 0)
        weir_buf_append_text(out, "none");
}

/* Index of the column `on`, or with NULL of the newest one, of one of the kinds; -1: there is none. */
static int find_kind(const struct operator_schema *schema, const char *on, unsigned kinds,
                     bool reads_records)
{
    for (size_t i = schema->count; i-- > 0;) {
        const struct column_about *about = &schema->column[i];
        bool is_meant =
            on != NULL ? strcmp(on, about->name) == 0 : reads_records || !schema->is_read[i];
        if (is_meant && (kinds & 1u << about->kind) != 0)
            return (int)i;
    }
    return -1;
}

static bool has_read(const struct operator_schema *schema)
{
    size_t i = 0;
    while (i < schema->count && !schema->is_read[i])
        i++;
    return i < schema->count;
}

static enum weir_status pick(const struct operator_schema *schema, const char *on, unsigned kinds,
                             bool reads_records, int *ret_column, struct weir_error *err)
{
    *ret_column = find_kind(schema, on, kinds, reads_records);
    if (*ret_column >= 0)
        return WEIR_OK;
    WEIR_AUTO_BUF wanted = {0};
    WEIR_AUTO_BUF found = {0};
    print_kinds(kinds, &wanted);
    print_columns(schema, &found);
    return weir_fail(
        err, WEIR_INVALID, "expected a %s column%s%s, found %s%s", weir_buf_text(&wanted),
        on != NULL ? " named " : "", on != NULL ? on : "", weir_buf_text(&found),
        on == NULL && has_read(schema)
            ? ": a record that fields were taken of is taken whole only by its name (on)"
            : "");
}

enum weir_status preprocess_operator_schema_pick(const struct operator_schema *schema,
                                                 const char *on, unsigned kinds, int *ret_column,
                                                 struct weir_error *err)
{
    return pick(schema, on, kinds, false, ret_column, err);
}

enum weir_status preprocess_operator_schema_pick_record(const struct operator_schema *schema,
                                                        const char *on, int *ret_column,
                                                        struct weir_error *err)
{
    const unsigned kinds = 1u << COLUMN_BYTES | 1u << COLUMN_TEXT;
    bool is_there = schema->count > 0 && (kinds & 1u << schema->column[0].kind) != 0;
    if (on != NULL || !is_there)
        return pick(schema, on, kinds, true, ret_column, err);
    *ret_column = 0;
    return WEIR_OK;
}

static void print_types(unsigned types, struct weir_buf *out)
{
    const char *between = "";
    for (enum weir_dtype type = WEIR_U8; weir_dtype_bytes(type) > 0; type++) {
        if ((types & 1u << type) == 0)
            continue;
        weir_buf_printf(out, "%s%s", between, weir_dtype_name(type));
        between = " or ";
    }
}

enum weir_status preprocess_operator_schema_pick_numbers(const struct operator_schema *schema,
                                                         const char *on, unsigned types,
                                                         int *ret_column, struct weir_error *err)
{
    enum weir_status status = preprocess_operator_schema_pick(
        schema, on, 1u << COLUMN_DENSE | 1u << COLUMN_RAGGED, ret_column, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[*ret_column];
    if ((types & 1u << about->type) != 0)
        return WEIR_OK;
    WEIR_AUTO_BUF wanted = {0};
    print_types(types, &wanted);
    return weir_fail(err, WEIR_INVALID, "column %s holds %s, expected %s: cast it first",
                     about->name, weir_dtype_name(about->type), weir_buf_text(&wanted));
}

enum weir_status preprocess_operator_schema_check_name(const char *name, struct weir_error *err)
{
    if (name == NULL || (*name != '\0' && strlen(name) < COLUMN_NAME_MAX))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "name '%s' of a column, expected 1 to %d characters", name,
                     COLUMN_NAME_MAX - 1);
}

enum weir_status preprocess_operator_plan_output(struct operator_plan *plan, const char *as,
                                                 enum column_kind kind, enum weir_dtype type,
                                                 uint32_t width, struct weir_error *err)
{
    plan->outputs = 1;
    plan->output[0] = preprocess_column_about(as, kind, type, width);
    return preprocess_operator_schema_check_name(as, err);
}

enum weir_status preprocess_operator_schema_replace(struct operator_schema *schema, int index,
                                                    const struct column_about *about,
                                                    struct weir_error *err)
{
    int same = find_column(schema, about->name);
    if (same >= 0 && same != index)
        return weir_fail(err, WEIR_INVALID, "there is a column '%s' already", about->name);
    if ((size_t)index >= COLUMNS_MAX)
        return weir_fail(err, WEIR_LIMIT, "more than %d columns", COLUMNS_MAX);
    schema->column[index] = *about;
    if ((size_t)index >= schema->count)
        schema->count = (size_t)index + 1;
    return WEIR_OK;
}

void preprocess_operator_draw(const struct operator_call *call, size_t row, uint32_t step,
                              struct weir_rng *ret_rng)
{
    uint64_t id = call->ids != NULL ? call->ids[row] : 0;
    uint64_t draw = weir_mix64((uint64_t)call->batch->epoch << 8 | step);
    weir_rng_init(ret_rng, weir_mix64(call->batch->seed + weir_mix64(id + draw)));
}

/* Keeps the list in the order of rows; the last one makes room for those before it. */
static void list_failure(struct operator_call *call, size_t row)
{
    struct operator_failures *list = call->list;
    size_t origin = call->origins != NULL ? call->origins[row] : row, at = list->count;
    while (at > 0 && list->of[at - 1].row > origin)
        at--;
    if (at == OPERATOR_FAILURES_MAX)
        return;
    list->count += list->count < OPERATOR_FAILURES_MAX;
    memmove(&list->of[at + 1], &list->of[at], (list->count - at - 1) * sizeof(list->of[0]));
    list->of[at].row = origin;
    list->of[at].step = call->step;
    memcpy(list->of[at].reason, call->reason, sizeof(call->reason));
}

void preprocess_operator_fail_row(struct operator_call *call, size_t row, const char *format, ...)
{
    if (call->failed[row] != OPERATOR_ROW_OK)
        return;
    va_list args;
    va_start(args, format);
    weir_utf8_print_list(call->reason, sizeof(call->reason), format, args);
    va_end(args);
    call->failed[row] = OPERATOR_ROW_FAILED;
    call->failures++;
    if (call->list != NULL)
        list_failure(call, call->first + row);
}

void preprocess_operator_filter_row(struct operator_call *call, size_t row)
{
    if (call->failed[row] != OPERATOR_ROW_OK)
        return;
    call->failed[row] = OPERATOR_ROW_FILTERED;
    call->filtered++;
}

void preprocess_operator_read_rows(void *owner, struct operator_call *call,
                                   void (*read)(void *owner, struct operator_call *call,
                                                size_t row))
{
    for (size_t i = 0; i < call->rows; i++) {
        if (call->failed[i] == OPERATOR_ROW_OK)
            read(owner, call, i);
        preprocess_column_end_row(&call->out[0]);
    }
}

void preprocess_operator_read_numbers(void *owner, struct operator_call *call, size_t width,
                                      void (*read)(void *owner, struct operator_call *call,
                                                   size_t row, float *to))
{
    size_t size = call->rows * width * sizeof(float);
    float *numbers = (float *)(void *)weir_buf_extend(&call->out[0].values, size);
    memset(numbers, 0, size);
    for (size_t i = 0; i < call->rows; i++) {
        if (call->failed[i] == OPERATOR_ROW_OK)
            read(owner, call, i, numbers + i * width);
    }
}
