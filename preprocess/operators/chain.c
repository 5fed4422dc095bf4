/* The operators of a job, planned once and applied to one batch after the other. */
#include "preprocess/operators/chain.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* One operator at its place. */
struct step {
    const struct preprocess_operator *op;
    void *options;
    void *state;
    struct operator_plan plan;
    struct column own[OPERATOR_OUTPUTS_MAX];
    int second; /* where its second output goes */
    int64_t cpu_ns;
    uint64_t bytes;
    uint64_t failed;
    char reason[OPERATOR_REASON_MAX];
};

struct chain {
    struct step step[CHAIN_OPERATORS_MAX];
    size_t steps;
    int fitted; /* the step that wants a fit, or -1 */
    struct column payload;
    struct column *column[COLUMNS_MAX]; /* of the batch, as far as it has come */
    size_t columns;                     /* that leave the chain */
    struct weir_buf failed;             /* a flag per row */
};

/* ---- planning ---- */

static enum weir_status find_operator(const struct weir_yaml_node *node,
                                      const struct preprocess_operator **ret_op,
                                      struct weir_error *err)
{
    const char *name = weir_yaml_text(weir_yaml_get(node, "op"));
    if (name == NULL)
        return weir_yaml_fail(node, err, "preprocess.operators: expected {op: NAME, …}");
    *ret_op = operator_find(name);
    if (*ret_op != NULL)
        return WEIR_OK;
    const char *nearest = operator_nearest(name);
    return weir_yaml_fail(weir_yaml_get(node, "op"), err,
                          "preprocess.operators: no operator is called '%s'%s%s%s", name,
                          nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "",
                          nearest != NULL ? "?)" : "");
}

static enum weir_status adopt_outputs(struct chain *chain, struct step *step,
                                      struct operator_schema *schema, struct weir_error *err)
{
    weir_require(step->plan.outputs >= 1 && step->plan.outputs <= OPERATOR_OUTPUTS_MAX);
    for (size_t i = 0; i < step->plan.outputs; i++)
        step->own[i].about = step->plan.output[i];
    enum weir_status status =
        operator_schema_replace(schema, step->plan.in, &step->plan.output[0], err);
    if (status != WEIR_OK || step->plan.outputs == 1)
        return status;
    step->second = (int)schema->count;
    chain->columns = schema->count + 1;
    return operator_schema_replace(schema, step->second, &step->plan.output[1], err);
}

static enum weir_status plan_step(struct chain *chain, const struct weir_yaml_node *node,
                                  struct operator_schema *schema, struct weir_error *err)
{
    struct step *step = &chain->step[chain->steps];
    enum weir_status status = find_operator(node, &step->op, err);
    if (status != WEIR_OK)
        return status;
    step->options = weir_calloc(1, step->op->options_size + 1);
    step->state = weir_calloc(1, step->op->state_size + 1);
    chain->steps++;
    status = cfg_read(step->op->options, CFG_CLOSED, node, "preprocess.operators", "op",
                      step->options, err);
    if (status != WEIR_OK)
        return status;
    struct weir_error reason;
    status = step->op->plan(step->state, step->options, schema, &step->plan, &reason);
    if (status == WEIR_OK)
        status = adopt_outputs(chain, step, schema, &reason);
    if (status != WEIR_OK)
        return weir_yaml_fail(node, err, "preprocess.operators: %s: %s", step->op->name,
                              reason.text);
    if (step->op->fold == NULL)
        return WEIR_OK;
    if (chain->fitted >= 0)
        return weir_yaml_fail(node, err,
                              "preprocess.operators: %s: found a second fitted operator, "
                              "expected at most one",
                              step->op->name);
    chain->fitted = (int)chain->steps - 1;
    return WEIR_OK;
}

static enum weir_status check_end(const struct operator_schema *schema,
                                  const struct weir_yaml_node *operators, struct weir_error *err)
{
    for (size_t i = 0; i < schema->count; i++) {
        const struct column_about *about = &schema->column[i];
        if (about->kind == COLUMN_DENSE || about->kind == COLUMN_RAGGED)
            continue;
        return weir_yaml_fail(operators, err,
                              "preprocess.operators: the last one leaves column '%s' of %s, "
                              "expected numbers: add an operator that makes a tensor of it",
                              about->name, column_kind_name(about->kind));
    }
    return WEIR_OK;
}

enum weir_status chain_new(const struct weir_yaml_node *operators, struct chain **ret_chain,
                           struct weir_error *err)
{
    size_t count = weir_yaml_length(operators);
    if (count == 0 || count > CHAIN_OPERATORS_MAX)
        return weir_yaml_fail(operators, err, "preprocess.operators: found %zu, expected 1 to %d",
                              count, CHAIN_OPERATORS_MAX);
    WEIR_AUTO(chain) chain = weir_calloc(1, sizeof(*chain));
    chain->fitted = -1;
    chain->columns = 1;
    chain->payload.about = column_about("payload", COLUMN_BYTES, 0, 0);
    struct operator_schema schema = {.count = 1, .column = {chain->payload.about}};
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = plan_step(chain, weir_yaml_at(operators, i), &schema, err);
    if (status == WEIR_OK)
        status = check_end(&schema, operators, err);
    if (status == WEIR_OK)
        *ret_chain = WEIR_TAKE(chain);
    return status;
}

void chain_free(struct chain *chain)
{
    if (chain == NULL)
        return;
    for (size_t i = 0; i < chain->steps; i++) {
        struct step *step = &chain->step[i];
        if (step->op->fini != NULL)
            step->op->fini(step->state);
        for (size_t k = 0; k < OPERATOR_OUTPUTS_MAX; k++)
            column_fini(&step->own[k]);
        free(step->options);
        free(step->state);
    }
    column_fini(&chain->payload);
    weir_buf_fini(&chain->failed);
    free(chain);
}

/* ---- fitting ---- */

/* Fitted state: "WEIRFIT1", the operator's name in 32 bytes, its state, XXH3-128 of all before. */
enum { FIT_NAME_BYTES = 32, FIT_HEAD_BYTES = 8 + FIT_NAME_BYTES };
static const char FIT_MAGIC[8] = {'W', 'E', 'I', 'R', 'F', 'I', 'T', '1'};

bool chain_wants_fit(const struct chain *chain)
{
    return chain->fitted >= 0;
}

static const struct preprocess_operator *fitted_operator(const struct chain *chain)
{
    weir_require(chain->fitted >= 0);
    return chain->step[chain->fitted].op;
}

static void fit_head(const struct chain *chain, char head[FIT_HEAD_BYTES])
{
    memset(head, 0, FIT_HEAD_BYTES);
    memcpy(head, FIT_MAGIC, sizeof(FIT_MAGIC));
    strncpy(head + 8, fitted_operator(chain)->name, FIT_NAME_BYTES - 1);
}

enum weir_status chain_fit_load(struct chain *chain, struct weir_bytes fitted,
                                struct weir_error *err)
{
    if (!chain_wants_fit(chain))
        return WEIR_OK;
    char head[FIT_HEAD_BYTES];
    fit_head(chain, head);
    if (fitted.size < FIT_HEAD_BYTES + WEIR_DIGEST_BYTES ||
        memcmp(fitted.at, head, FIT_HEAD_BYTES) != 0)
        return weir_fail(err, WEIR_INVALID, "fitted state of %zu bytes, expected one of %s",
                         fitted.size, fitted_operator(chain)->name);
    size_t body = fitted.size - WEIR_DIGEST_BYTES;
    struct weir_digest digest = weir_digest_of(weir_bytes(fitted.at, body));
    if (memcmp(digest.bytes, fitted.at + body, WEIR_DIGEST_BYTES) != 0)
        return weir_fail(err, WEIR_CORRUPT, "fitted state fails its checksum");
    struct step *step = &chain->step[chain->fitted];
    return step->op->load(step->state,
                          weir_bytes(fitted.at + FIT_HEAD_BYTES, body - FIT_HEAD_BYTES), err);
}

enum weir_status chain_fit_merge(const struct chain *chain, struct weir_buf *merged,
                                 struct weir_bytes partial, struct weir_error *err)
{
    if (partial.size == 0) /* a group of nothing but holes */
        return WEIR_OK;
    return fitted_operator(chain)->merge(merged, partial, err);
}

enum weir_status chain_fit_finish(const struct chain *chain, struct weir_bytes merged,
                                  struct weir_buf *fitted, struct weir_error *err)
{
    char head[FIT_HEAD_BYTES];
    fit_head(chain, head);
    weir_buf_append(fitted, head, sizeof(head));
    enum weir_status status = fitted_operator(chain)->finish(merged, fitted, err);
    if (status != WEIR_OK)
        return status;
    struct weir_digest digest = weir_digest_of(weir_buf_view(fitted));
    weir_buf_append(fitted, digest.bytes, sizeof(digest.bytes));
    return WEIR_OK;
}

/* ---- batches ---- */

struct column *chain_begin(struct chain *chain)
{
    column_begin(&chain->payload);
    return &chain->payload;
}

static struct operator_call begin_step(struct chain *chain, struct step *step, size_t rows)
{
    for (size_t i = 0; i < step->plan.outputs; i++)
        column_begin(&step->own[i]);
    return (struct operator_call){
        .rows = rows,
        .in = chain->column[step->plan.in],
        .out = step->own,
        .failed = chain->failed.at,
    };
}

static void run_step(struct chain *chain, struct step *step, size_t rows)
{
    int64_t before_ns = weir_cpu_thread_ns();
    struct operator_call call = begin_step(chain, step, rows);
    if (rows > 0)
        step->op->apply(step->state, &call);
    if (call.failures > 0)
        memcpy(step->reason, call.reason, sizeof(step->reason));
    step->failed += call.failures;
    for (size_t i = 0; i < step->plan.outputs; i++)
        step->bytes += column_bytes(&step->own[i]);
    chain->column[step->plan.in] = &step->own[0];
    if (step->plan.outputs > 1)
        chain->column[step->second] = &step->own[1];
    step->cpu_ns += weir_cpu_thread_ns() - before_ns;
}

static void start(struct chain *chain, size_t rows)
{
    weir_buf_clear(&chain->failed);
    weir_buf_reserve(&chain->failed, rows + 1);
    memset(chain->failed.at, OPERATOR_ROW_OK, rows);
    chain->failed.size = rows;
    chain->column[0] = &chain->payload;
}

const uint8_t *chain_run(struct chain *chain, size_t rows)
{
    start(chain, rows);
    for (size_t i = 0; i < chain->steps; i++)
        run_step(chain, &chain->step[i], rows);
    return chain->failed.at;
}

void chain_fold(struct chain *chain, size_t rows, struct weir_buf *partial)
{
    start(chain, rows);
    for (int i = 0; i < chain->fitted; i++)
        run_step(chain, &chain->step[i], rows);
    struct step *step = &chain->step[chain->fitted];
    struct operator_call call = begin_step(chain, step, rows);
    step->op->fold(step->state, &call, partial);
}

size_t chain_outputs(const struct chain *chain)
{
    return chain->columns;
}

struct column *chain_output(struct chain *chain, size_t index)
{
    weir_require(index < chain->columns);
    return chain->column[index];
}

size_t chain_operators(const struct chain *chain)
{
    return chain->steps;
}

struct chain_cost chain_cost(const struct chain *chain, size_t index)
{
    const struct step *step = &chain->step[index];
    return (struct chain_cost){
        .name = step->op->name,
        .cpu_ns = step->cpu_ns,
        .bytes = step->bytes,
        .failed = step->failed,
        .reason = step->reason,
    };
}
