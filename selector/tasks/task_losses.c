/* State that a policy by losses goes on from: the shares of the trigger before, and the losses that the newest model's
 * has reported since. Each model's losses count once, however many triggers follow it. */
#include "selector/tasks/task_losses.h"

#include "core/wire/sample.h"
#include "selector/scores/scores.h"
#include "selector/sql/queries.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct adding {
    const struct selector_section *section;
    const struct selector_pipeline *pipeline;
    struct selection_losses *losses;
};

static int64_t place_of(const struct selector_pipeline *pipeline, uint64_t dataset)
{
    for (size_t i = 0; i < pipeline->dataset_count; i++)
        if (pipeline->datasets[i] == dataset)
            return (int64_t)i;
    return -1;
}

static void add(void *owner, uint64_t id, int64_t label, float loss)
{
    const struct adding *adding = owner;
    const struct selector_section *section = adding->section;
    int64_t place = place_of(adding->pipeline, weir_sample_dataset(id));
    size_t component = section->policy->reported->component_of(section->options, place, label);
    if (component == SIZE_MAX || !isfinite(loss))
        return;
    adding->losses->sums[component] += (double)loss;
    adding->losses->counts[component]++;
}

/* True when the rows are of these components, in any order; fills their shares. */
static bool match(const struct weir_rows *rows, const char *const *names, size_t count,
                  double *shares)
{
    size_t found = 0;
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < weir_rows_count(rows); i++)
            if (strcmp(weir_rows_text(rows, i, "name"), names[c]) == 0) {
                shares[c] = weir_rows_f64(rows, i, "share");
                found++;
            }
    return found == count && found == weir_rows_count(rows);
}

/* Shares of the newest trigger that had some, and by whose losses they were. */
static enum weir_status read_before(const struct selector_task *task,
                                    struct selection_losses *losses, char *ret_model,
                                    struct weir_error *err)
{
    const struct selector_section *section = task->frozen.section;
    const char *names[SELECTION_COMPONENTS_MAX];
    size_t count = section->policy->reported->components(section->options, names);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(task->thread->db, Q_list_components, &rows, err, DB_TEXT(task->pipeline_name),
               DB_I64(task->asked.select.trigger));
    if (status != WEIR_OK)
        return status;
    losses->goes_on = weir_rows_count(rows) > 0 && match(rows, names, count, losses->before);
    (void)snprintf(ret_model, SELECTOR_MODEL_MAX, "%s",
                   losses->goes_on ? weir_rows_text(rows, 0, "scored_by") : "");
    return WEIR_OK;
}

static bool has_any(const struct selection_losses *losses)
{
    for (size_t c = 0; c < SELECTION_COMPONENTS_MAX; c++)
        if (losses->counts[c] > 0)
            return true;
    return false;
}

enum weir_status selector_task_find_losses(struct selector_task *task,
                                           struct selection_losses *losses, char *ret_model,
                                           struct weir_error *err)
{
    const struct selector_scores_store store = {.db = task->thread->db,
                                                .data_dir = task->queue->data_dir};
    struct adding adding = {task->frozen.section, &task->frozen, losses};
    const char *model = task->asked.select.model;
    *losses = (struct selection_losses){.model = model};
    enum weir_status status = read_before(task, losses, ret_model, err);
    if (status != WEIR_OK || model[0] == '\0' || strcmp(model, ret_model) == 0)
        return status;
    if (strlen(model) >= SELECTOR_MODEL_MAX)
        return weir_fail(err, WEIR_LIMIT, "model '%s': expected a name below %d bytes", model,
                         SELECTOR_MODEL_MAX);
    status = selector_scores_reported(&store, task->pipeline_name, model, add, &adding, err);
    if (status == WEIR_OK && has_any(losses))
        (void)snprintf(ret_model, SELECTOR_MODEL_MAX, "%s", model);
    return status;
}
