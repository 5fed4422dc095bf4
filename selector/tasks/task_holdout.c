/* Simple: one model learns from what the policy withholds, and speaks of all others. Twin: a hash divides the samples
 * into halves, the same ones in every trigger; a model learns from each half and speaks of the other. */
#include "selector/tasks/task_holdout.h"

#include "core/base/memory.h"
#include "selector/pipelines/holdout.h"
#include "selector/scores/scores.h"

#include <stdlib.h>

static size_t models_of(const struct scoring_holdout *holdout)
{
    return holdout->twin ? 2 : 1;
}

static size_t half_of(uint64_t id)
{
    const struct selector_holdout first = selector_holdout_make("(twin)", 0.5);
    return selector_holdout_has(&first, id) ? 0 : 1;
}

static bool learns_from(const struct scoring_holdout *holdout, size_t model, uint64_t id)
{
    return holdout->twin && half_of(id) == model;
}

void selector_irreducible_fini(struct selector_irreducible *irreducible)
{
    free(irreducible->losses);
    free(irreducible->states);
}

/* ---- what they are trained on ---- */

static void find_lessons(const struct selector_task *task, const struct scoring_holdout *holdout,
                         size_t model, const uint64_t *ids, size_t count,
                         struct selector_set *ret_set)
{
    *ret_set = (struct selector_set){0};
    if (!holdout->twin) {
        selector_set_combine(ret_set, SELECTOR_UNION, &task->candidates.withheld);
        return;
    }
    WEIR_AUTO_FREE uint64_t *half = weir_calloc(count + 1, sizeof(*half));
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (learns_from(holdout, model, ids[i]))
            half[found++] = ids[i];
    selector_set_of_ids(ret_set, half, found);
}

/* Puts the next model's lessons into the task's model request; false when one of the models would have none. */
static bool request_lessons(struct selector_task *task, const struct scoring_holdout *holdout,
                            size_t next, const uint64_t *ids, size_t count)
{
    bool all = true;
    task->model_request = (struct selector_model_request){.trains = true, .half = (uint32_t)next};
    for (size_t m = 0; m < models_of(holdout); m++) {
        struct selector_set lessons;
        find_lessons(task, holdout, m, ids, count, &lessons);
        task->model_request.candidates += lessons.count;
        all = all && lessons.count > 0;
        if (m == next)
            task->model_request.unscored = lessons;
        else
            selector_set_fini(&lessons);
    }
    return all;
}

enum selector_readiness selector_task_hold_out(struct selector_task *task,
                                               const struct scoring_holdout *holdout,
                                               const uint64_t *ids, size_t count)
{
    const struct weir_strs known = task->asked.select.holdouts;
    size_t models = models_of(holdout);
    for (size_t m = 0; m < models && m < known.count; m++)
        if (known.at[m][0] == '\0')
            return SELECTOR_IMPOSSIBLE;
    if (known.count >= models)
        return SELECTOR_READY;
    if (request_lessons(task, holdout, known.count, ids, count))
        return SELECTOR_WANTED;
    selector_set_fini(&task->model_request.unscored);
    return SELECTOR_IMPOSSIBLE;
}

/* ---- what they say ---- */

/* The samples that a model speaks of, and where they are among all. */
struct spoken_of {
    uint64_t *ids;
    size_t *places;
    size_t count;
};

static struct spoken_of find_spoken_of(const struct scoring_holdout *holdout, size_t model,
                                       const uint64_t *ids, size_t count)
{
    struct spoken_of of = {.ids = weir_calloc(count + 1, sizeof(*of.ids)),
                           .places = weir_calloc(count + 1, sizeof(*of.places))};
    for (size_t i = 0; i < count; i++) {
        if (learns_from(holdout, model, ids[i]))
            continue;
        of.ids[of.count] = ids[i];
        of.places[of.count++] = i;
    }
    return of;
}

static void request_scores(struct selector_task *task, const char *model,
                           const struct spoken_of *of, const struct selector_scores *scores)
{
    WEIR_AUTO_FREE uint64_t *unscored = weir_calloc(of->count + 1, sizeof(*unscored));
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++)
        if (scores->states[i] == SELECTOR_UNSCORED)
            unscored[count++] = of->ids[i];
    task->model_request =
        (struct selector_model_request){.mode = "score", .model = model, .candidates = of->count};
    selector_set_of_ids(&task->model_request.unscored, unscored, count);
}

static enum weir_status find_losses_of(struct selector_task *task, const char *model,
                                       const struct spoken_of *of,
                                       struct selector_irreducible *irreducible,
                                       struct weir_error *err)
{
    const struct selector_scores_store store = {.db = task->thread->db,
                                                .data_dir = task->queue->data_dir};
    const struct selector_scores_query query = {.pipeline = task->pipeline_name,
                                                .mode = "score",
                                                .model = model,
                                                .ids = of->ids,
                                                .count = of->count};
    struct selector_scores scores = {0};
    enum weir_status status = selector_scores_find(&store, &query, &scores, err);
    for (size_t i = 0; status == WEIR_OK && i < of->count; i++) {
        irreducible->states[of->places[i]] = scores.states[i];
        if (scores.states[i] == SELECTOR_SCORED)
            irreducible->losses[of->places[i]] = scores.values[i];
    }
    if (status == WEIR_OK)
        request_scores(task, model, of, &scores);
    selector_scores_fini(&scores);
    return status;
}

enum weir_status selector_task_find_irreducible(struct selector_task *task,
                                                const struct scoring_holdout *holdout,
                                                const uint64_t *ids, size_t count,
                                                struct selector_irreducible *ret_irreducible,
                                                struct weir_error *err)
{
    const struct weir_strs models = task->asked.select.holdouts;
    enum weir_status status = WEIR_OK;
    *ret_irreducible = (struct selector_irreducible){
        .losses = weir_calloc(count + 1, sizeof(*ret_irreducible->losses)),
        .states = weir_calloc(count + 1, sizeof(*ret_irreducible->states))};
    for (size_t m = 0;
         status == WEIR_OK && m < models_of(holdout) && task->model_request.unscored.count == 0;
         m++) {
        struct spoken_of of = find_spoken_of(holdout, m, ids, count);
        status = find_losses_of(task, models.at[m], &of, ret_irreducible, err);
        free(of.ids);
        free(of.places);
    }
    return status;
}
