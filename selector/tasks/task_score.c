/* A choice by scores: the presampled candidates, a model's scores of them, and the method's choice. As long as
 * samples have no score there is no choice: the answer names them, and the request comes again when a model
 * has scored them. */
#include "selector/tasks/task_score.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "selector/scores/scores.h"
#include "selector/scoring/scoring.h"
#include "selector/tasks/task_holdout.h"
#include "selector/tasks/task_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of the number, of those a model gives, that a method wants; SIZE_MAX: all. */
static const size_t COLUMN[] = {
    [SCORING_WANTS_LOSS] = 0,
    [SCORING_WANTS_GRADIENT_NORM] = 1,
    [SCORING_WANTS_PROBABILITIES] = SIZE_MAX,
    [SCORING_WANTS_GRADIENT] = SIZE_MAX,
    [SCORING_WANTS_EMBEDDING] = SIZE_MAX,
};

/* Candidates of the method: columns in ascending order of id. */
struct presampled {
    uint64_t *ids;
    int64_t *labels; /* NULL: not wanted */
    float *weights;  /* NULL: all 1 */
    struct selector_scores scores;
    struct selector_irreducible irreducible; /* for a method that wants it */
    size_t count;
};

static void presampled_fini(struct presampled *presampled)
{
    free(presampled->ids);
    free(presampled->labels);
    free(presampled->weights);
    selector_scores_fini(&presampled->scores);
    selector_irreducible_fini(&presampled->irreducible);
}

static const struct selection_scored *scored_of(const struct selector_choosing *choosing)
{
    return selector_section_scored(choosing->section, choosing->trigger);
}

/* ---- presampling ---- */

static enum weir_status presample(struct selector_task *task,
                                  const struct selector_choosing *choosing, char *reason,
                                  struct weir_error *err)
{
    struct selector_choosing first = *choosing;
    first.section = choosing->section->presample;
    if (first.section != NULL)
        return selector_candidates_choose(&task->candidates, &first, &task->sources, reason, err);
    selector_candidates_choose_all(&task->candidates);
    if (task->candidates.chosen.count == 0)
        (void)snprintf(reason, SELECTION_REASON_MAX, "there are no samples to choose from");
    return WEIR_OK;
}

/* Expands what is chosen so far, whose weights are moved. */
static enum weir_status expand(struct selector_task *task, bool with_labels,
                               struct presampled *presampled, struct weir_error *err)
{
    struct selector_candidates *candidates = &task->candidates;
    const struct selector_set *chosen = &candidates->chosen;
    enum weir_status status = WEIR_OK;
    presampled->ids = weir_calloc(chosen->count + WEIR_BLOCK_ROWS, sizeof(*presampled->ids));
    if (with_labels)
        presampled->labels = weir_calloc(chosen->count + 1, sizeof(*presampled->labels));
    for (size_t block = 0; status == WEIR_OK && block < chosen->block_count; block++) {
        size_t at = presampled->count;
        size_t count = selector_set_ids(chosen, block, presampled->ids + at);
        presampled->count += count;
        if (with_labels)
            status = selector_columns_read(&task->columns, presampled->ids + at, count, NULL,
                                           presampled->labels + at, err);
    }
    presampled->weights = candidates->weights;
    candidates->weights = NULL;
    return status;
}

/* ---- scores ---- */

static struct selector_scores_store store_of(const struct selector_task *task)
{
    return (struct selector_scores_store){
        .db = task->thread->db,
        .data_dir = task->queue->data_dir,
    };
}

/* Finds the model whose scores decide: that of another pipeline that has most of them, unless the trigger has begun
 * with one already. Empty: there is none. */
static enum weir_status find_scorer(const struct selector_task *task,
                                    const struct selector_scores_query *query, char *ret_model,
                                    struct weir_error *err)
{
    const struct selector_scores_store store = store_of(task);
    const struct msg_select *asked = &task->asked.select;
    WEIR_AUTO_FREE char *best = NULL;
    enum weir_status status = WEIR_OK;
    if (query->from != NULL && !asked->pinned)
        status = selector_scores_best_model(&store, query, &best, err);
    const char *model = best != NULL ? best : asked->model;
    if (status == WEIR_OK && strlen(model) >= SELECTOR_MODEL_MAX)
        status = weir_fail(err, WEIR_LIMIT, "model '%s': expected a name below %d bytes", model,
                           SELECTOR_MODEL_MAX);
    if (status == WEIR_OK)
        (void)snprintf(ret_model, SELECTOR_MODEL_MAX, "%s", model);
    return status;
}

static enum weir_status find_scores(struct selector_task *task,
                                    const struct selection_scored *scored,
                                    struct presampled *presampled, char *ret_model,
                                    struct weir_error *err)
{
    const struct selector_scores_store store = store_of(task);
    struct selector_scores_query query = {
        .pipeline = task->pipeline_name,
        .from = scored->from,
        .mode = selector_scoring_mode(scored->method->wants),
        .column = COLUMN[scored->method->wants],
        .ids = presampled->ids,
        .count = presampled->count,
    };
    enum weir_status status = find_scorer(task, &query, ret_model, err);
    if (status != WEIR_OK || ret_model[0] == '\0')
        return status;
    query.model = ret_model;
    return selector_scores_find(&store, &query, &presampled->scores, err);
}

/* Puts the samples without a score into the task's model request. */
static void request_missing_scores(struct selector_task *task,
                                   const struct selection_scored *scored,
                                   const struct presampled *presampled)
{
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(presampled->count + 1, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < presampled->count; i++)
        if (presampled->scores.states[i] == SELECTOR_UNSCORED)
            ids[count++] = presampled->ids[i];
    task->model_request.mode = selector_scoring_mode(scored->method->wants);
    task->model_request.candidates = presampled->count;
    selector_set_of_ids(&task->model_request.unscored, ids, count);
}

/* Samples that no model can score (they are filtered, unreadable, gone) cannot be trained on either. */
static void leave_out_unscorable(struct presampled *presampled)
{
    const struct selector_irreducible *irreducible = &presampled->irreducible;
    size_t count = 0, width = presampled->scores.width;
    for (size_t i = 0; i < presampled->count; i++) {
        if (presampled->scores.states[i] != SELECTOR_SCORED ||
            (irreducible->states != NULL && irreducible->states[i] != SELECTOR_SCORED))
            continue;
        if (irreducible->losses != NULL)
            irreducible->losses[count] = irreducible->losses[i];
        presampled->ids[count] = presampled->ids[i];
        if (presampled->labels != NULL)
            presampled->labels[count] = presampled->labels[i];
        if (presampled->weights != NULL)
            presampled->weights[count] = presampled->weights[i];
        memmove(presampled->scores.values + count++ * width, presampled->scores.values + i * width,
                width * sizeof(*presampled->scores.values));
    }
    presampled->count = count;
}

/* ---- the method ---- */

/* Keeps the method's choice as that of the candidates, in order of id. */
static void keep(struct selector_candidates *candidates, const struct presampled *presampled,
                 const struct scoring_choice *choice)
{
    WEIR_AUTO_FREE float *weights = weir_calloc(presampled->count + 1, sizeof(*weights));
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(choice->count + 1, sizeof(*ids));
    size_t count = 0;
    for (size_t n = 0; n < choice->count; n++) {
        size_t at = choice->chosen[n];
        weights[at] =
            choice->weights[n] * (presampled->weights != NULL ? presampled->weights[at] : 1);
    }
    candidates->weights = weir_calloc(choice->count + 1, sizeof(*candidates->weights));
    for (size_t i = 0; i < presampled->count; i++) {
        if (!(weights[i] > 0))
            continue;
        weir_require(count < choice->count);
        candidates->weights[count] = weights[i];
        ids[count++] = presampled->ids[i];
    }
    selector_set_fini(&candidates->chosen);
    selector_set_of_ids(&candidates->chosen, ids, count);
}

/* Each round draws its own numbers. */
static uint64_t seed_of(const struct selector_choosing *choosing)
{
    uint64_t seed =
        selector_trigger_seed(choosing->section->seed, choosing->pipeline, choosing->trigger);
    return choosing->round == 0 ? seed : weir_mix64(seed + choosing->round);
}

static enum weir_status run_method(struct selector_task *task,
                                   const struct selector_choosing *choosing,
                                   const struct presampled *presampled, size_t target,
                                   struct weir_error *err)
{
    const struct selection_scored *scored = scored_of(choosing);
    const struct scoring_input input = {
        .count = presampled->count,
        .width = presampled->scores.width,
        .values = presampled->scores.values,
        .holdout_losses = presampled->irreducible.losses,
        .labels = presampled->labels,
        .target = target < presampled->count ? target : presampled->count,
        .seed = seed_of(choosing),
        .progress = task->sources.progress,
    };
    bool draws_parts = scored->method->draws_again && choosing->section->epochs > 1 &&
                       input.target > 0 && input.target < input.count;
    size_t room = draws_parts ? input.count : input.target;
    WEIR_AUTO_FREE size_t *chosen = weir_calloc(room + 1, sizeof(*chosen));
    WEIR_AUTO_FREE float *weights = weir_calloc(room + 1, sizeof(*weights));
    struct scoring_choice choice = {.chosen = chosen, .weights = weights};
    enum weir_status status = WEIR_OK;
    if (draws_parts)
        status = selector_parts_draw(&task->candidates.parts, scored, &input,
                                     choosing->section->epochs, &choice, err);
    else if (!selector_scoring_choose(scored->method, scored->options, &input, &choice))
        status = scoring_given_up(err);
    if (status == WEIR_OK)
        keep(&task->candidates, presampled, &choice);
    return status;
}

/* Has the policy itself choose among the presampled, as long as there is no model. */
static enum weir_status choose_without_model(struct selector_task *task,
                                             const struct selector_choosing *choosing, char *reason,
                                             struct weir_error *err)
{
    struct selector_candidates left = {.all = task->candidates.chosen};
    enum weir_status status =
        selector_candidates_choose(&left, choosing, &task->sources, reason, err);
    task->candidates.chosen = left.chosen;
    left.chosen = (struct selector_set){0};
    selector_candidates_fini(&left);
    return status;
}

/* Finds all scores of the presampled; missing ones become the task's model request. False in `ret_possible`:
 * there is no model that could give them. */
static enum weir_status consult(struct selector_task *task, const struct selection_scored *scored,
                                struct presampled *presampled, char *scored_by, bool *ret_possible,
                                struct weir_error *err)
{
    const struct scoring_method *method = scored->method;
    const struct scoring_holdout held =
        method->wants_holdout_loss ? method->holdout(scored->options) : (struct scoring_holdout){0};
    enum selector_readiness readiness = SELECTOR_READY;
    enum weir_status status = find_scores(task, scored, presampled, scored_by, err);
    if (status == WEIR_OK && scored_by[0] == '\0')
        readiness = SELECTOR_IMPOSSIBLE;
    else if (status == WEIR_OK && method->wants_holdout_loss)
        readiness = selector_task_hold_out(task, &held, presampled->ids, presampled->count);
    *ret_possible = readiness != SELECTOR_IMPOSSIBLE;
    if (status != WEIR_OK || readiness != SELECTOR_READY)
        return status;
    request_missing_scores(task, scored, presampled);
    if (!method->wants_holdout_loss || task->model_request.unscored.count > 0)
        return WEIR_OK;
    return selector_task_find_irreducible(task, &held, presampled->ids, presampled->count,
                                          &presampled->irreducible, err);
}

static enum weir_status choose_scored(struct selector_task *task,
                                      const struct selector_choosing *choosing,
                                      struct presampled *presampled, struct selector_sealed *sealed,
                                      struct weir_error *err)
{
    const struct selection_scored *scored = scored_of(choosing);
    size_t target = selector_target_of(choosing->section, task->candidates.chosen.count);
    bool wants = scored->method->wants != SCORING_WANTS_NOTHING, possible = true;
    enum weir_status status = expand(task, scored->balance, presampled, err);
    if (status == WEIR_OK && wants)
        status = consult(task, scored, presampled, sealed->scored_by, &possible, err);
    if (status != WEIR_OK || task->model_request.unscored.count > 0)
        return status;
    if (!possible) {
        sealed->scored_by[0] = '\0';
        return choose_without_model(task, choosing, sealed->reason, err);
    }
    if (wants)
        leave_out_unscorable(presampled);
    if (presampled->count == 0 || target == 0)
        (void)snprintf(sealed->reason, sizeof(sealed->reason), "%s",
                       target == 0 ? "the ratio of the samples is less than one"
                                   : "no sample could be scored");
    return run_method(task, choosing, presampled, target, err);
}

enum weir_status selector_task_choose_scored(struct selector_task *task,
                                             const struct selector_choosing *choosing,
                                             struct selector_sealed *sealed, struct weir_error *err)
{
    struct presampled presampled = {0};
    enum weir_status status = presample(task, choosing, sealed->reason, err);
    sealed->period = scored_of(choosing)->period;
    if (status == WEIR_OK && !sealed->reason[0])
        status = choose_scored(task, choosing, &presampled, sealed, err);
    presampled_fini(&presampled);
    return status;
}

static void request_scores(struct selector_task *task, const char *path)
{
    const struct selector_model_request *request = &task->model_request;
    const char *keeps_to = task->sealed.scored_by;
    const struct msg_scores_wanted wanted = {
        .mode = request->mode,
        .model = request->model != NULL ? request->model : keeps_to,
        .digest = request->sealed.digest,
        .samples = request->sealed.samples,
        .path = path,
        .candidates = request->candidates,
        .keeps_to = keeps_to,
    };
    weir_log(WEIR_LOG_INFO, "scores wanted",
             "pipeline=%s trigger=%" PRIu64 " mode=%s model=%s samples=%" PRIu64 " of=%" PRIu64,
             task->pipeline_name, task->asked.select.trigger, wanted.mode, wanted.model,
             wanted.samples, wanted.candidates);
    weir_rpc_reply(task->queue->server, &task->route, MSG_scores_wanted, &wanted, NULL);
}

static void request_model(struct selector_task *task, const char *path)
{
    const struct msg_holdout_wanted wanted = {
        .half = task->model_request.half,
        .digest = task->model_request.sealed.digest,
        .samples = task->model_request.sealed.samples,
        .path = path,
    };
    weir_log(WEIR_LOG_INFO, "model of the holdout wanted",
             "pipeline=%s trigger=%" PRIu64 " half=%" PRIu32 " samples=%" PRIu64,
             task->pipeline_name, task->asked.select.trigger, wanted.half, wanted.samples);
    weir_rpc_reply(task->queue->server, &task->route, MSG_holdout_wanted, &wanted, NULL);
}

void selector_task_request_model(struct selector_task *task)
{
    WEIR_AUTO_FREE char *path =
        selector_sealed_path(task->queue->data_dir, &task->model_request.sealed);
    if (task->model_request.trains)
        request_model(task, path);
    else
        request_scores(task, path);
    selector_task_end(task);
}
