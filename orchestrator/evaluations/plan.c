/* Intervals times models: see plan.h. */
#include "orchestrator/evaluations/plan.h"

#include "core/base/bisect.h"

struct plan {
    const struct evaluation_request *request;
    const struct evaluation_stream *stream;
    const struct evaluation_scope *scope;
    evaluation_planned_fn *planned;
    void *owner;
};

static void want(const struct plan *plan, size_t model, struct evaluation_interval interval)
{
    bool is_new = model >= plan->scope->first_model || interval.to > plan->scope->over_since;
    if (is_new && !plan->stream->models[model].gone && interval.to <= plan->scope->now)
        plan->planned(plan->owner, model, interval);
}

/* Number of models that were trained on nothing at `time_us` or later. */
static size_t models_before(const struct evaluation_stream *stream, int64_t time_us)
{
    size_t low = 0;
    size_t high = stream->count;
    WEIR_BISECT(low, high, middle, stream->models[middle].until_time < time_us);
    return low;
}

/* Those for which it is the next interval, the active one (the last of these, if there are any) and its
 * successor are neighbours. `known`: models for which an earlier interval is the next. Returns those
 * before this interval. */
static size_t plan_interval(const struct plan *plan, struct evaluation_interval interval,
                            size_t known)
{
    unsigned models = plan->request->models;
    size_t before = models_before(plan->stream, interval.from);
    bool decided = plan->stream->ended || before < plan->stream->count;
    if ((models & MODELS_MATRIX) != 0) {
        for (size_t i = 0; i < plan->stream->count; i++)
            want(plan, i, interval);
        return before;
    }
    for (size_t i = known; (models & MODELS_NEXT) != 0 && i < before; i++)
        want(plan, i, interval);
    bool reported = (models & MODELS_NEXT) != 0 && known < before;
    if ((models & MODELS_ACTIVE) != 0 && before > 0 && decided && !reported)
        want(plan, before - 1, interval);
    if ((models & MODELS_TRAINED) != 0 && before < plan->stream->count)
        want(plan, before, interval);
    return before;
}

static void plan_intervals(const struct plan *plan)
{
    struct evaluation_intervals intervals = {0};
    size_t known = 0;
    plan->request->strategy->intervals(plan->request->state, plan->stream, &intervals);
    for (size_t i = 0; i < intervals.count; i++)
        known = plan_interval(plan, intervals.at[i], known);
    orchestrator_intervals_fini(&intervals);
}

static void plan_models(const struct plan *plan)
{
    for (size_t model = 0; model < plan->stream->count; model++) {
        struct evaluation_intervals intervals = {0};
        plan->request->strategy->intervals_of(plan->request->state, plan->stream, model,
                                              &intervals);
        for (size_t i = 0; i < intervals.count; i++)
            want(plan, model, intervals.at[i]);
        orchestrator_intervals_fini(&intervals);
    }
}

uint64_t orchestrator_plan_count(const struct evaluation_request *request,
                                 const struct evaluation_stream *stream)
{
    return request->strategy->count != NULL ? request->strategy->count(request->state, stream) : 0;
}

void orchestrator_plan(const struct evaluation_request *request,
                       const struct evaluation_stream *stream, const struct evaluation_scope *scope,
                       evaluation_planned_fn *planned, void *owner)
{
    const struct plan plan = {request, stream, scope, planned, owner};
    if (request->strategy->intervals != NULL)
        plan_intervals(&plan);
    else
        plan_models(&plan);
}
