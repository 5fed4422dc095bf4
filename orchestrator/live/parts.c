/* Newest texts and their numbers: see parts.h. */
#include "orchestrator/live/parts.h"

#include "core/base/memory.h"

#include <stdlib.h>

void orchestrator_live_parts_init(struct live_parts *parts)
{
    *parts = (struct live_parts){.number = 0};
    TAILQ_INIT(&parts->all);
}

struct live_part *orchestrator_live_part_of(const struct live_parts *parts, const void *kind,
                                            struct live_subject of)
{
    struct live_part *part;
    TAILQ_FOREACH (part, &parts->all, link)
        if (part->kind == kind && part->of.pipeline == of.pipeline && part->of.scope == of.scope)
            return part;
    return NULL;
}

struct live_part *orchestrator_live_part_add(struct live_parts *parts, const void *kind,
                                             struct live_subject of)
{
    struct live_part *part = weir_calloc(1, sizeof(*part));
    part->kind = kind;
    part->of = of;
    part->is_stale = true;
    TAILQ_INSERT_TAIL(&parts->all, part, link);
    return part;
}

bool orchestrator_live_part_set(struct live_parts *parts, struct live_part *part,
                                struct weir_bytes text)
{
    const struct live_text *before = part->text;
    if (before != NULL && weir_bytes_equal(weir_bytes(before->at, before->size), text))
        return false;
    orchestrator_live_text_free(part->text);
    part->text = orchestrator_live_text_new(text);
    part->number = ++parts->number;
    return true;
}

bool orchestrator_live_parts_renew(struct live_parts *parts, int64_t pipeline)
{
    struct live_part *part;
    bool has_any = false;
    TAILQ_FOREACH (part, &parts->all, link) {
        if (part->of.pipeline != pipeline || part->text == NULL)
            continue;
        part->number = ++parts->number;
        has_any = true;
    }
    return has_any;
}

void orchestrator_live_part_drop(struct live_parts *parts, struct live_part *part)
{
    TAILQ_REMOVE(&parts->all, part, link);
    orchestrator_live_text_free(part->text);
    free(part);
}

static bool is_for(const struct live_part *part, const struct live_scope *scope)
{
    return part->of.pipeline != 0 ? orchestrator_live_scope_has(scope, part->of.pipeline)
                                  : part->of.scope == scope;
}

const struct live_part *orchestrator_live_part_after(const struct live_parts *parts,
                                                     const struct live_scope *scope,
                                                     uint64_t number)
{
    const struct live_part *part, *first = NULL;
    TAILQ_FOREACH (part, &parts->all, link)
        if (part->text != NULL && part->number > number &&
            (first == NULL || part->number < first->number) && is_for(part, scope))
            first = part;
    return first;
}
