/* compare, comparisons, comparison, comparison_remove: grids of pipelines. */
#include "orchestrator/comparing/telling.h"
#include "orchestrator/context/events.h"
#include "orchestrator/topics/topic.h"

#include <string.h>

enum { PAGE_COMPARISONS = 500 /* of one answer: a message is bounded */ };

static bool sees(const struct topic_call *call, const struct comparison *comparison)
{
    const char *tenant = call->sender.tenant;
    return tenant[0] == '\0' || strcmp(comparison->owner, tenant) == 0;
}

/* The comparison of that name, or the newest one. NULL: refused already. */
static struct comparison *find(struct topic_call *call)
{
    const char *name = orchestrator_topic_text(call, "comparison", "");
    struct comparison *comparison = call->all->comparisons->first;
    while (comparison != NULL && (!sees(call, comparison) ||
                                  (name[0] != '\0' && strcmp(comparison->grid->name, name) != 0)))
        comparison = comparison->next;
    if (comparison == NULL && name[0] == '\0')
        topic_fail(call, WEIR_NOT_FOUND, "no comparison yet: weir compare takes a grid in");
    else if (comparison == NULL)
        topic_fail(call, WEIR_NOT_FOUND, "comparison %.80s: there is none; see weir comparisons",
                   name);
    return comparison;
}

static void answer_with(struct topic_call *call, const struct comparison *comparison)
{
    struct weir_error err;
    json_t *json = NULL;
    if (orchestrator_topic_flag(call, "brief"))
        orchestrator_topic_answer(
            call, orchestrator_comparison_brief(call->all->comparisons, comparison));
    else if (orchestrator_comparison_tell(call->all->comparisons, comparison, &json, &err) ==
             WEIR_OK)
        orchestrator_topic_answer(call, json);
    else
        orchestrator_topic_refuse(call, &err);
}

void orchestrator_topic_compare(struct topic_call *call)
{
    struct weir_error err;
    struct comparison *comparison = NULL;
    const struct grid_files files = {
        .file = orchestrator_topic_text(call, "file", "grid file"),
        .text = weir_bytes_of(orchestrator_topic_text(call, "grid", "")),
        .base_file = orchestrator_topic_text(call, "base_file", ""),
        .base_text = weir_bytes_of(orchestrator_topic_text(call, "base", "")),
    };
    if (orchestrator_topic_check_grid(call, &files, &err) == WEIR_OK &&
        orchestrator_comparison_submit(call->all->comparisons, &files, call->sender.tenant,
                                       &comparison, &err) == WEIR_OK)
        orchestrator_topic_answer(
            call, orchestrator_comparison_brief(call->all->comparisons, comparison));
    else
        orchestrator_topic_refuse(call, &err);
}

/* The first of a page: after the one of that name, or the newest. */
static const struct comparison *first_of_page(const struct topic_call *call)
{
    const char *before = orchestrator_topic_text(call, "before", NULL);
    const struct comparison *comparison = call->all->comparisons->first;
    while (before != NULL && comparison != NULL && strcmp(comparison->grid->name, before) != 0)
        comparison = comparison->next;
    return before != NULL && comparison != NULL ? comparison->next : comparison;
}

/* Newest first. */
void orchestrator_topic_comparisons(struct topic_call *call)
{
    const struct comparison *comparison = first_of_page(call);
    const char *last = NULL;
    json_t *list = json_array();
    for (; comparison != NULL && json_array_size(list) < PAGE_COMPARISONS;
         comparison = comparison->next) {
        if (!sees(call, comparison))
            continue;
        json_array_append_new(list,
                              orchestrator_comparison_brief(call->all->comparisons, comparison));
        last = comparison->grid->name;
    }
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_NEW("comparisons", list),
                          JSON_TEXT_IF_ANY("before", comparison != NULL ? last : NULL)));
}

void orchestrator_topic_comparison(struct topic_call *call)
{
    const struct comparison *comparison = find(call);
    if (comparison != NULL)
        answer_with(call, comparison);
}

void orchestrator_topic_comparison_remove(struct topic_call *call)
{
    struct weir_error err;
    size_t removed = 0;
    struct comparison *comparison = find(call);
    if (comparison == NULL)
        return;
    if (orchestrator_comparison_remove(call->all->comparisons, comparison, &removed, &err) !=
        WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *answer = orchestrator_comparison_brief(call->all->comparisons, comparison);
    json_object_set_new(answer, "pipelines_removed", json_integer((json_int_t)removed));
    orchestrator_topic_answer(call, answer);
}
