/* Between scrubbed and verified: an erasure waits until the orchestrator has purged every holder, rewritten tables and
 * cycled the write-ahead log. A start of storage forgets who was sealed and reports them again. */
#include "storage/erasure/erasure_record.h"
#include "storage/erasure/erasure_steps.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { LISTED_MAX = 65536 };

static bool waits(const struct erasure_record *erasure)
{
    return erasure->state == WEIR_ERASURE_SCRUBBED && !erasure->is_sealed;
}

static size_t count_waiting(const struct erasures *erasures)
{
    size_t count = 0;

    for (size_t i = 0; erasures != NULL && i < erasures->count; i++)
        count += waits(erasures->at[i]) ? erasures->at[i]->count : 0;
    return count < LISTED_MAX ? count : LISTED_MAX;
}

void storage_erase_scrubbed(const struct eraser *eraser, struct weir_arena *arena,
                            struct msg_erase_scrubbed *answer)
{
    const struct erasures *erasures = eraser->erasures;
    size_t room = count_waiting(erasures), count = 0;
    uint64_t *numbers = weir_arena_alloc(arena, (room + 1) * sizeof(*numbers));

    for (size_t i = 0; erasures != NULL && i < erasures->count; i++) {
        const struct erasure_record *erasure = erasures->at[i];

        for (size_t k = 0; waits(erasure) && k < erasure->count && count < room; k++)
            if (!erasure->requests[k]->is_sealed)
                numbers[count++] = erasure->requests[k]->number;
    }
    answer->erasures = (struct weir_u64s){numbers, count};
}

static int compare(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static bool is_named(const struct msg_erase_search *asked, uint64_t number)
{
    return asked->erasures.count > 0 && bsearch(&number, asked->erasures.at, asked->erasures.count,
                                                sizeof(number), compare) != NULL;
}

/* Those that are worked on together go on once all of them are sealed. */
static void seal(struct erasure_record *erasure, const struct msg_erase_search *asked)
{
    bool is_sealed = true;

    for (size_t i = 0; i < erasure->count; i++) {
        struct erase_request *request = erasure->requests[i];

        if (!request->is_sealed && is_named(asked, request->number)) {
            for (size_t k = 0; k < asked->remarks.count; k++)
                storage_remark(&request->remarks, asked->remarks.at[k]);
            request->is_sealed = true;
        }
        is_sealed = is_sealed && request->is_sealed;
    }
    erasure->is_sealed = is_sealed;
}

void storage_erase_search(struct eraser *eraser, const struct msg_erase_search *asked)
{
    const struct erasures *erasures = eraser->erasures;

    free(eraser->cluster);
    eraser->cluster = *asked->cluster ? weir_strdup(asked->cluster) : NULL;
    free(eraser->places);
    eraser->places = weir_strdup(asked->places);
    for (size_t i = 0; erasures != NULL && i < erasures->count; i++) {
        if (erasures->at[i]->state == WEIR_ERASURE_SCRUBBED && !erasures->at[i]->is_sealed)
            seal(erasures->at[i], asked);
    }
    storage_pump(eraser->store);
}
