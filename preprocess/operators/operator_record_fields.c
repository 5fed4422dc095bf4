/* record_fields: a binary record of fixed layout → tensors `dense` and `sparse`, each a run of
 * little-endian numbers at a fixed place: [offset in bytes, count, type]. */
#include "preprocess/operators/operator.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES_MAX = 2, RECORD_BYTES_MAX = 1 << 24 };

struct options {
    const char *on;
    struct cfg_texts dense;
    struct cfg_texts sparse;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the record, `payload`"),
    CFG_TEXTS(struct options, dense, .doc = "[offset, count, type] of the tensor `dense`"),
    CFG_TEXTS(struct options, sparse, .doc = "[offset, count, type] of the tensor `sparse`"),
    CFG_END,
};

struct piece {
    size_t offset;
    size_t bytes;
};

struct state {
    struct piece piece[PIECES_MAX];
    size_t pieces;
};

static enum weir_dtype type_of(const char *name)
{
    for (enum weir_dtype type = WEIR_U8; weir_dtype_bytes(type) > 0; type++) {
        if (weir_str_equal(weir_dtype_name(type), name))
            return type;
    }
    return 0;
}

static bool number_of(const char *text, size_t max, size_t *ret_value)
{
    char *end = NULL;
    unsigned long value = text != NULL ? strtoul(text, &end, 10) : 0;
    if (text == NULL || *text < '0' || *text > '9' || *end != '\0' || value > max)
        return false;
    *ret_value = value;
    return true;
}

static enum weir_status plan_piece(struct state *state, struct cfg_texts texts, const char *name,
                                   struct operator_plan *plan, struct weir_error *err)
{
    if (texts.count == 0)
        return WEIR_OK;
    size_t offset, count;
    enum weir_dtype type = type_of(weir_yaml_text(weir_yaml_at(texts.node, 2)));
    bool is_right =
        texts.count == 3 && type != 0 &&
        number_of(weir_yaml_text(weir_yaml_at(texts.node, 0)), RECORD_BYTES_MAX, &offset) &&
        number_of(weir_yaml_text(weir_yaml_at(texts.node, 1)), COLUMN_WIDTH_MAX, &count) &&
        count > 0;
    if (!is_right)
        return weir_yaml_fail(texts.node, err,
                              "expected %s: [offset, count, type], as in [4, 13, f32]", name);
    state->piece[state->pieces++] =
        (struct piece){.offset = offset, .bytes = count * weir_dtype_bytes(type)};
    plan->output[plan->outputs++] =
        preprocess_column_about(name, COLUMN_DENSE, type, (uint32_t)count);
    return WEIR_OK;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *options = given;
    enum weir_status status = plan_piece(owner, options->dense, "dense", ret_plan, err);
    if (status == WEIR_OK)
        status = plan_piece(owner, options->sparse, "sparse", ret_plan, err);
    if (status == WEIR_OK && ret_plan->outputs == 0)
        status =
            weir_fail(err, WEIR_INVALID,
                      "found nothing to take, expected dense or sparse: [offset, count, type]");
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_schema_pick_record(schema, options->on, &ret_plan->in, err);
}

static void take(const struct piece *piece, struct weir_bytes record, struct operator_call *call,
                 size_t row, uint8_t *to)
{
    if (record.size >= piece->offset + piece->bytes) {
        memcpy(to, record.at + piece->offset, piece->bytes);
        return;
    }
    memset(to, 0, piece->bytes);
    preprocess_operator_fail_row(call, row, "record of %zu bytes, expected at least %zu",
                                 record.size, piece->offset + piece->bytes);
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    uint8_t *to[PIECES_MAX];
    for (size_t i = 0; i < state->pieces; i++)
        to[i] = weir_buf_extend(&call->out[i].values, call->rows * state->piece[i].bytes);
    for (size_t row = 0; row < call->rows; row++) {
        column_prefetch(call->in, row, call->rows);
        struct weir_bytes record = column_row(call->in, row);
        for (size_t i = 0; i < state->pieces; i++)
            take(&state->piece[i], record, call, row, to[i] + row * state->piece[i].bytes);
    }
}

const struct preprocess_operator preprocess_operator_record_fields = {
    .name = "record_fields",
    .summary = "fields of a binary record to tensors",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .reads_records = true,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .in_place = true,
};
