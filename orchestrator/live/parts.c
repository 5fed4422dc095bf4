/* Newest texts and their numbers: see parts.h. */
#include "orchestrator/live/parts.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

struct live_text *orchestrator_live_text_hold(struct live_text *text)
{
    text->holders++;
    return text;
}

void orchestrator_live_text_free(struct live_text *text)
{
    if (text != NULL && --text->holders == 0)
        free(text);
}

static struct live_text *new_text(struct weir_bytes from)
{
    struct live_text *text = weir_calloc(1, sizeof(*text) + from.size);
    text->holders = 1;
    text->size = from.size;
    memcpy(text->at, from.at, from.size);
    return text;
}

void orchestrator_live_parts_init(struct live_parts *parts)
{
    *parts = (struct live_parts){.number = 0};
    TAILQ_INIT(&parts->all);
}

struct live_part *orchestrator_live_part_of(const struct live_parts *parts, const void *kind,
                                            int64_t about)
{
    struct live_part *part;
    TAILQ_FOREACH (part, &parts->all, link)
        if (part->kind == kind && part->about == about)
            return part;
    return NULL;
}

struct live_part *orchestrator_live_part_add(struct live_parts *parts, const void *kind,
                                             int64_t about)
{
    struct live_part *part = weir_calloc(1, sizeof(*part));
    part->kind = kind;
    part->about = about;
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
    part->text = new_text(text);
    part->number = ++parts->number;
    return true;
}

void orchestrator_live_part_drop(struct live_parts *parts, struct live_part *part)
{
    TAILQ_REMOVE(&parts->all, part, link);
    orchestrator_live_text_free(part->text);
    free(part);
}

const struct live_part *orchestrator_live_part_after(const struct live_parts *parts,
                                                     uint64_t number)
{
    const struct live_part *part, *first = NULL;
    TAILQ_FOREACH (part, &parts->all, link)
        if (part->text != NULL && part->number > number &&
            (first == NULL || part->number < first->number))
            first = part;
    return first;
}
