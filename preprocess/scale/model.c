/* See model.h. */
#include "preprocess/scale/model.h"

#include "preprocess/scale/rates.h"

#include <math.h>
#include <string.h>

static const double VALUES = 10; /* at most, averaged into a mean */

/* Mean and variance, the newest value counting one in so many (West, "Updating mean and variance estimates", 1979). */
static void move(struct scale_moving *moving, double value)
{
    if (!isfinite(value) || value < 0)
        return;
    moving->count = fmin(moving->count + 1, VALUES);
    double off = value - moving->mean, part = 1 / moving->count;
    moving->mean += off * part;
    moving->variance = (1 - part) * (moving->variance + part * off * off);
}

/* ---- reports ---- */

void preprocess_model_report(struct scale_model *model, const struct scale_report *report)
{
    double own = preprocess_scale_wanted(report);
    for (size_t i = 0; i < report->maker_count; i++)
        model->batches += report->makers[i].batches;
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++) {
        double made = preprocess_scale_made(report, place);
        if (made > 0)
            move(&model->made[place], made);
    }
    if (report->span_s <= 0 || report->taker_count == 0 || own <= 0)
        return;
    move(&model->own, own);
    move(&model->taken, preprocess_scale_taken(report) / report->span_s);
    move(&model->stall, preprocess_scale_stall(report));
}

/* ---- counters ---- */

static bool has_grown(const struct ordering_cost *before, const struct ordering_cost *now)
{
    return now->ns >= before->ns && now->taken >= before->taken && now->made >= before->made &&
           now->rows >= before->rows && now->kept >= before->kept;
}

static bool goes_on(const struct scale_counters *before, const struct scale_counters *now)
{
    if (now->operator_count != before->operator_count || now->read_ns < before->read_ns ||
        now->read_bytes < before->read_bytes || now->queued_ns < before->queued_ns ||
        now->sent_bytes < before->sent_bytes)
        return false;
    for (size_t i = 0; i < now->operator_count; i++) {
        if (!has_grown(&before->operators[i], &now->operators[i]))
            return false;
    }
    return true;
}

static void learn_operator(struct scale_operator *learned, const struct ordering_cost *before,
                           const struct ordering_cost *now, double batches)
{
    double rows = now->rows - before->rows;
    move(&learned->batch_ns, (now->ns - before->ns) / batches);
    if (rows <= 0)
        return;
    move(&learned->taken, (now->taken - before->taken) / rows);
    move(&learned->made, (now->made - before->made) / rows);
    move(&learned->kept, (now->kept - before->kept) / rows);
}

static void learn(struct scale_model *model, const struct scale_counters *now)
{
    const struct scale_counters *before = &model->last;
    double batches = model->batches;
    move(&model->read_ns, (now->read_ns - before->read_ns) / batches);
    move(&model->read_bytes, (now->read_bytes - before->read_bytes) / batches);
    move(&model->queued_ns, (now->queued_ns - before->queued_ns) / batches);
    move(&model->sent_bytes, (now->sent_bytes - before->sent_bytes) / batches);
    model->operator_count = now->operator_count;
    for (size_t i = 0; i < now->operator_count; i++)
        learn_operator(&model->operators[i], &before->operators[i], &now->operators[i], batches);
}

static void forget_operators(struct scale_model *model)
{
    for (size_t i = 0; i < CHAIN_OPERATORS_MAX; i++)
        model->operators[i] = (struct scale_operator){0};
    model->operator_count = 0;
}

void preprocess_model_counters(struct scale_model *model, const struct scale_counters *counters)
{
    bool is_more = model->has_last && goes_on(&model->last, counters);
    if (is_more && model->batches <= 0)
        return; /* nothing that they could be divided by */
    if (is_more)
        learn(model, counters);
    else if (model->has_last && counters->operator_count != model->last.operator_count)
        forget_operators(model);
    model->last = *counters;
    model->has_last = true;
    model->batches = 0;
}

/* ---- after a crash ---- */

/* Bytes of what a model of so many operators has learnt. */
static size_t learnt_bytes(size_t operators)
{
    return offsetof(struct scale_model, operators) + operators * sizeof(struct scale_operator);
}

void preprocess_model_keep(const struct scale_model *model, struct weir_buf *out)
{
    weir_buf_append(out, model, learnt_bytes(model->operator_count));
}

bool preprocess_model_take_up(struct scale_model *model, struct weir_bytes kept)
{
    struct scale_model found = {.operator_count = 0};
    if (kept.size < learnt_bytes(0) || kept.size > learnt_bytes(CHAIN_OPERATORS_MAX))
        return false;
    memcpy(&found, kept.at, kept.size);
    if (found.operator_count > CHAIN_OPERATORS_MAX ||
        kept.size != learnt_bytes(found.operator_count))
        return false;
    *model = found;
    return true;
}

/* ---- the optimum ---- */

static const double NS = 1e-9;

static struct optimum_stage reading(const struct scale_model *model, double bytes,
                                    const struct optimum_piece *pieces, size_t piece_count)
{
    double all = model->read_bytes.mean, seconds = model->read_ns.mean * NS;
    struct optimum_stage stage = {
        .seconds = all > 0 ? seconds * bytes / all : seconds,
        .only_waits = true,
        .bytes = bytes,
        .piece_count = piece_count,
    };
    for (size_t i = 0; i < piece_count; i++)
        stage.pieces[i] = pieces[i];
    return stage;
}

bool preprocess_model_problem(const struct scale_model *model,
                              const struct scale_surroundings *surroundings,
                              struct optimum_problem *ret_problem)
{
    if (model->read_ns.count <= 0)
        return false;
    *ret_problem = (struct optimum_problem){
        .cores = surroundings->cores,
        .consumers = model->own.mean,
        .stage_count = 1 + model->operator_count,
    };
    ret_problem->stages[0] =
        reading(model, model->read_bytes.mean, surroundings->pieces, surroundings->piece_count);
    for (size_t i = 0; i < model->operator_count; i++) {
        ret_problem->stages[1 + i] = (struct optimum_stage){
            .seconds = model->operators[i].batch_ns.mean * NS,
            .most = (surroundings->sequential >> i & 1) != 0 ? 1 : 0,
        };
    }
    return true;
}

struct optimum_stage preprocess_model_cache(const struct scale_model *model,
                                            const struct optimum_problem *problem, size_t stage)
{
    const struct optimum_stage *source = &problem->stages[0];
    double bytes = model->read_bytes.mean;
    for (size_t i = 0; i < stage; i++) {
        const struct scale_operator *ran = &model->operators[i];
        double taken = ran->taken.mean;
        bytes *= taken > 0 ? ran->made.mean / taken : 1;
    }
    return reading(model, bytes, source->pieces, source->piece_count);
}
