/* Copying samples from one input to another. */
#include "orchestrator/metrics/gathered.h"

#include "core/base/memory.h"
#include "core/loop/work_sort.h"

#include <stdlib.h>
#include <string.h>

void orchestrator_metric_gathered_init(struct metric_gathered *gathered,
                                       const struct metric_input *from)
{
    *gathered = (struct metric_gathered){
        .from = from,
        .input = {.width = from->width, .label_width = from->label_width, .work = from->work}};
}

void orchestrator_metric_gathered_fini(struct metric_gathered *gathered)
{
    free(gathered->values);
    free(gathered->labels);
    free(gathered->numbers);
    free(gathered->groups);
}

static void reserve(struct metric_gathered *gathered)
{
    const struct metric_input *from = gathered->from;
    struct metric_input *input = &gathered->input;
    if (input->count < gathered->capacity)
        return;
    size_t more = gathered->capacity = (gathered->capacity + from->count + 1) * 2;
    gathered->values = weir_realloc(gathered->values, more * from->width + 1, sizeof(float));
    gathered->labels = weir_realloc(gathered->labels, more, sizeof(int64_t));
    if (from->numbers != NULL)
        gathered->numbers =
            weir_realloc(gathered->numbers, more * from->label_width, sizeof(double));
    if (from->groups != NULL)
        gathered->groups = weir_realloc(gathered->groups, more, sizeof(int64_t));
    input->values = gathered->values;
    input->labels = gathered->labels;
    input->numbers = gathered->numbers;
    input->groups = gathered->groups;
}

void orchestrator_metric_gather(struct metric_gathered *gathered, size_t sample)
{
    const struct metric_input *from = gathered->from;
    reserve(gathered);
    size_t at = gathered->input.count++, width = from->width, numbers = from->label_width;
    memcpy(gathered->values + at * width, from->values + sample * width, width * sizeof(float));
    gathered->labels[at] = from->labels[sample];
    if (from->numbers != NULL)
        memcpy(gathered->numbers + at * numbers, from->numbers + sample * numbers,
               numbers * sizeof(double));
    if (from->groups != NULL)
        gathered->groups[at] = from->groups[sample];
}

/* ---- draws ---- */

struct member {
    int64_t group;
    size_t sample;
};

static int by_group_and_place(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return (left->sample > right->sample) - (left->sample < right->sample);
}

void orchestrator_metric_draws_init(struct metric_draws *draws, const struct metric_input *from,
                                    bool by_group)
{
    bool grouped = by_group && from->groups != NULL;
    WEIR_AUTO_FREE struct member *members = weir_calloc(from->count + 1, sizeof(*members));
    for (size_t i = 0; i < from->count; i++)
        members[i] = (struct member){grouped ? from->groups[i] : (int64_t)i, i};
    bool is_sorted =
        weir_work_sort(from->work, members, from->count, sizeof(*members), by_group_and_place);
    *draws = (struct metric_draws){.order = weir_calloc(from->count + 1, sizeof(*draws->order)),
                                   .starts = weir_calloc(from->count + 1, sizeof(*draws->starts))};
    orchestrator_metric_gathered_init(&draws->drawn, from);
    for (size_t i = 0; i < from->count && is_sorted; i++) { /* else nothing will be drawn */
        draws->order[i] = members[i].sample;
        if (i == 0 || members[i].group != members[i - 1].group)
            draws->starts[draws->count++] = i;
    }
    draws->starts[draws->count] = from->count;
}

void orchestrator_metric_draws_fini(struct metric_draws *draws)
{
    orchestrator_metric_gathered_fini(&draws->drawn);
    free(draws->order);
    free(draws->starts);
}

void orchestrator_metric_draw(struct metric_draws *draws, struct weir_rng *rng)
{
    struct metric_gathered *drawn = &draws->drawn;
    drawn->input.count = 0;
    for (size_t i = 0; i < draws->count; i++) {
        size_t group = (size_t)weir_rng_below(rng, draws->count);
        for (size_t at = draws->starts[group]; at < draws->starts[group + 1]; at++) {
            orchestrator_metric_gather(drawn, draws->order[at]);
            if (drawn->groups != NULL)
                drawn->groups[drawn->input.count - 1] = (int64_t)i;
        }
    }
}
