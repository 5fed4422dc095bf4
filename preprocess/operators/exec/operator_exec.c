/* exec: a column → one that a program of the user makes of it, batch by batch
 * (docs/guides/run-a-program.md). The program is named by the pipeline, and allowed by the system
 * file. When it dies, hangs, or answers nonsense, it is started again, and the rows are asked for
 * by halves, until the one that it cannot bear is found: that one fails, the others pass.
 *
 * What takes long is waited for in pieces: call->waits, and the same batch comes again. */
#include "core/base/utf8.h"
#include "preprocess/operators/exec/frame.h"
#include "preprocess/operators/exec/program.h"
#include "preprocess/operators/exec/suspects.h"
#include "preprocess/operators/operator.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <string.h>

enum { GUILTY_MAX = 256, HANGS_MAX = 10 };

static const char *const KINDS[] = {"dense", "ragged", "text", "bytes", NULL};
static const enum column_kind KIND_OF[] = {COLUMN_DENSE, COLUMN_RAGGED, COLUMN_TEXT, COLUMN_BYTES};
static const char *const TYPES[] = {"f32", "f64", "i32", "i64", "u32", "u8", NULL};
static const enum weir_dtype TYPE_OF[] = {WEIR_F32, WEIR_F64, WEIR_I32,
                                          WEIR_I64, WEIR_U32, WEIR_U8};

struct options {
    const char *on;
    const char *program;
    const char *name;
    int makes, type;
    uint64_t width;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest but pictures and words"),
    CFG_TEXT(struct options, program, .required = true,
             .doc = "one of `programs` of the system file"),
    CFG_TEXT(struct options, name, .doc = "of what it makes; by default that of the column"),
    CFG_CHOICE(struct options, makes, .fallback = "dense", .choices = KINDS,
               .doc = "kind of column that the program makes"),
    CFG_CHOICE(struct options, type, .fallback = "f32", .choices = TYPES,
               .doc = "of numbers, dense or ragged"),
    CFG_U64(struct options, width, .fallback = "1", .min = 1, .max = COLUMN_WIDTH_MAX,
            .doc = "dense: numbers of a row"),
    CFG_END,
};

/* A sample that the program cannot bear. */
struct guilty {
    uint64_t id;
    char reason[PROGRAM_REASON_MAX];
};

struct state {
    const char *name; /* of the program */
    struct weir_allowed allowed;
    struct program program;
    struct column_about makes;
    struct guilty guilty[GUILTY_MAX];
    size_t guilty_count; /* ever; the newest GUILTY_MAX are known */
    size_t hangs;        /* in a row, over all batches; HANGS_MAX: the program is given up */
    /* The batch under way: */
    uint64_t batch;
    struct suspects suspects;
    struct weir_buf rows; /* u32: those of the call that are asked for */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on,
        1u << COLUMN_BYTES | 1u << COLUMN_TEXT | 1u << COLUMN_DENSE | 1u << COLUMN_RAGGED,
        &ret_plan->in, err);
    if (status == WEIR_OK)
        status = preprocess_operator_schema_check_name(options->name, err);
    if (status == WEIR_OK)
        status = weir_programs_find(options->program, &state->allowed, err);
    if (status != WEIR_OK)
        return status;
    const char *name = options->name != NULL ? options->name : schema->column[ret_plan->in].name;
    enum column_kind kind = KIND_OF[options->makes];
    state->name = options->program;
    state->makes = preprocess_column_about(name, kind, TYPE_OF[options->type],
                                           kind == COLUMN_DENSE ? (uint32_t)options->width : 0);
    state->program.allowed = &state->allowed;
    ret_plan->outputs = 1;
    ret_plan->output[0] = state->makes;
    return WEIR_OK;
}

static void fini(void *owner)
{
    struct state *state = owner;
    preprocess_program_fini(&state->program);
    weir_allowed_fini(&state->allowed);
    weir_buf_fini(&state->rows);
}

/* ---- rows ---- */

static const struct guilty *find_guilty(const struct state *state, uint64_t id)
{
    size_t known = state->guilty_count < GUILTY_MAX ? state->guilty_count : GUILTY_MAX;
    for (size_t i = 0; i < known; i++) {
        if (state->guilty[i].id == id)
            return &state->guilty[i];
    }
    return NULL;
}

static uint64_t id_of(const struct operator_call *call, size_t row)
{
    return call->ids != NULL ? call->ids[row] : row;
}

/* Sets down the rows to ask for, and fails those that are known to be guilty. */
static size_t choose_rows(struct state *state, struct operator_call *call)
{
    weir_buf_clear(&state->rows);
    for (size_t i = 0; i < call->rows; i++) {
        const struct guilty *guilty = find_guilty(state, id_of(call, i));
        if (call->failed[i] == OPERATOR_ROW_OK && guilty != NULL)
            preprocess_operator_fail_row(call, i, "program %s: %s", state->name, guilty->reason);
        if (call->failed[i] == OPERATOR_ROW_OK)
            weir_buf_append(&state->rows, &(uint32_t){(uint32_t)i}, sizeof(uint32_t));
    }
    return state->rows.size / sizeof(uint32_t);
}

static const uint32_t *rows_of(const struct state *state)
{
    return (const uint32_t *)(const void *)state->rows.at;
}

static void blame(struct state *state, const struct operator_call *call, size_t row)
{
    struct guilty *guilty = &state->guilty[state->guilty_count++ % GUILTY_MAX];
    guilty->id = id_of(call, row);
    memcpy(guilty->reason, state->program.reason, sizeof(guilty->reason));
}

static void fail_all(const struct state *state, struct operator_call *call, size_t count)
{
    for (size_t i = 0; i < count; i++)
        preprocess_operator_fail_row(call, rows_of(state)[i], "program %s: %s: %s", state->name,
                                     state->hangs < HANGS_MAX
                                         ? "too much of the batch fails"
                                         : "it has hung too often, and is given up",
                                     state->program.reason);
}

/* ---- answers ---- */

/* Reasons are for people: what cannot be printed is left out. */
static void fail_row(const struct state *state, struct operator_call *call, size_t row,
                     const char *reason)
{
    char text[OPERATOR_REASON_MAX];
    size_t size = 0;
    for (; reason[size] != '\0' && size + 1 < sizeof(text); size++)
        text[size] = reason[size] >= ' ' && reason[size] <= '~' ? reason[size] : '?';
    text[size] = '\0';
    preprocess_operator_fail_row(call, row, "program %s: %s", state->name, text);
}

static void take_states(const struct state *state, struct operator_call *call,
                        const struct frame_made *made, size_t count)
{
    size_t reason = 0;
    for (size_t i = 0; i < count && made->states != NULL; i++) {
        uint32_t row = rows_of(state)[i];
        if (made->states[i] == OPERATOR_ROW_FAILED) {
            bool has_reason = reason < made->reasons.count;
            fail_row(state, call, row, has_reason ? made->reasons.at[reason] : "it says no reason");
            reason++;
        } else if (made->states[i] == OPERATOR_ROW_FILTERED) {
            preprocess_operator_filter_row(call, row);
        }
    }
}

/* Rows that were not asked for are empty, or zero. */
static void put_rows(const struct state *state, struct operator_call *call,
                     const struct frame_made *made, size_t count)
{
    struct column *out = &call->out[0];
    bool is_dense = state->makes.kind == COLUMN_DENSE;
    size_t unit = state->makes.kind == COLUMN_TEXT || state->makes.kind == COLUMN_BYTES
                      ? 1
                      : weir_dtype_bytes(state->makes.type);
    size_t width = state->makes.width * unit;
    weir_require(count == 0 || (is_dense ? made->values.at != NULL : made->offsets != NULL));
    if (is_dense) {
        weir_buf_reserve(&out->values, call->rows * width);
        memset(out->values.at, 0, call->rows * width);
        out->values.size = call->rows * width;
    }
    for (size_t i = 0, at = 0; i < call->rows; i++) {
        bool is_there = at < count && rows_of(state)[at] == i;
        if (is_dense && is_there)
            memcpy(out->values.at + i * width, made->values.at + at * width, width);
        else if (is_there)
            weir_buf_append(&out->values, made->values.at + made->offsets[at] * unit,
                            (made->offsets[at + 1] - made->offsets[at]) * unit);
        at += is_there;
        if (!is_dense)
            preprocess_column_end_row(out);
    }
}

/* ---- asking ---- */

static enum program_state request(struct state *state, struct operator_call *call,
                                  struct suspects_range range)
{
    uint64_t key = weir_mix64(state->batch ^ weir_mix64(range.first << 32 | range.end)) | 1;
    struct program *program = &state->program;
    if (program->key == key)
        return preprocess_program_wait(program);
    weir_buf_clear(&program->request);
    preprocess_frame_request(&(struct frame_rows){.call = call,
                                                  .rows = rows_of(state) + range.first,
                                                  .count = range.end - range.first},
                             &program->request);
    return preprocess_program_request(program, key);
}

/* Reads the answer: a nonsensical one is as good as a death. */
static bool read_answer(struct state *state, size_t count, struct weir_arena *arena,
                        struct frame_made *ret_made)
{
    struct weir_error err;
    struct program *program = &state->program;
    if (preprocess_frame_read(weir_buf_view(&program->answer), &state->makes, count, arena,
                              ret_made, &err) == WEIR_OK)
        return true;
    weir_utf8_print(program->reason, sizeof(program->reason), "it answered %.50s", err.text);
    preprocess_program_give_up(program);
    return false;
}

/* Sends one request and handles its outcome. */
static enum suspects_verdict request_once(struct state *state, struct operator_call *call,
                                          struct weir_arena *arena, struct frame_made *ret_made)
{
    size_t count = state->rows.size / sizeof(uint32_t);
    struct suspects_range range = preprocess_suspects_next(&state->suspects, count);
    enum program_state found = request(state, call, range);
    call->waits = found == PROGRAM_WAITS;
    if (call->waits)
        return SUSPECTS_GO_ON;
    bool has_passed =
        found == PROGRAM_ANSWERED && read_answer(state, range.end - range.first, arena, ret_made);
    bool is_hang = !has_passed && state->program.hung;
    state->hangs = is_hang ? state->hangs + 1 : 0;
    if (has_passed)
        return preprocess_suspects_passed(&state->suspects, count);
    enum suspects_verdict verdict = preprocess_suspects_failed(&state->suspects, count, is_hang);
    if (verdict == SUSPECTS_GUILTY) {
        blame(state, call, rows_of(state)[range.first]);
        preprocess_suspects_begin_again(&state->suspects);
        state->batch = 0;
    }
    return state->hangs < HANGS_MAX ? verdict : SUSPECTS_HOPELESS;
}

/* Names the batch by its rows; another one than before begins without suspicion. */
static void name_batch(struct state *state, const struct operator_call *call, size_t count)
{
    uint64_t name = weir_mix64((uint64_t)call->batch->epoch << 32 | count);
    for (size_t i = 0; i < count; i++)
        name = weir_mix64(name ^ weir_mix64(id_of(call, rows_of(state)[i])));
    if (name != state->batch && state->batch != 0)
        state->suspects = (struct suspects){0};
    state->batch = name;
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    struct frame_made made = {0};
    enum suspects_verdict verdict = SUSPECTS_GO_ON;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    int64_t until_ms = weir_now_ms() + PROGRAM_PATIENCE_MS;
    size_t count = choose_rows(state, call);
    while (count > 0 && !call->waits && verdict != SUSPECTS_DONE) {
        name_batch(state, call, count);
        verdict =
            state->hangs < HANGS_MAX ? request_once(state, call, arena, &made) : SUSPECTS_HOPELESS;
        if (verdict == SUSPECTS_HOPELESS) {
            fail_all(state, call, count);
            break;
        }
        if (verdict == SUSPECTS_GUILTY)
            count = choose_rows(state, call);
        call->waits =
            call->waits || (verdict != SUSPECTS_DONE && count > 0 && weir_now_ms() >= until_ms);
    }
    bool has_all = verdict == SUSPECTS_DONE && !call->waits;
    if (has_all)
        take_states(state, call, &made, count);
    put_rows(state, call, &made, has_all ? count : 0);
    if (!call->waits)
        state->suspects = (struct suspects){0};
}

static int64_t programs_ns(const void *owner)
{
    const struct state *state = owner;
    return preprocess_program_cpu_ns(&state->program);
}

const struct preprocess_operator preprocess_operator_exec = {
    .name = "exec",
    .summary = "a column made by a program of the user, in a process of its own",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .may_wait = true,
    .programs_ns = programs_ns,
    .fini = fini,
};
