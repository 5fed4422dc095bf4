/* Answers about erasures on their way: how far they are, what they keep others from, what stands in their way. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "storage/erasure/dropping.h"
#include "storage/erasure/erasure_record.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/erasure/s3_pending.h"

static struct erasure_record *find_erasure(const struct eraser *eraser, uint64_t number,
                                           struct erase_request **ret_request)
{
    for (size_t i = 0; eraser->erasures != NULL && i < eraser->erasures->count; i++) {
        *ret_request = storage_erasure_record_find(eraser->erasures->at[i], number);
        if (*ret_request != NULL)
            return eraser->erasures->at[i];
    }
    return NULL;
}

bool storage_erasure_is_open(const struct eraser *eraser, uint64_t number)
{
    struct erase_request *request;
    const struct erasure_record *erasure = find_erasure(eraser, number, &request);

    return erasure != NULL && erasure->state < WEIR_ERASURE_SCRUBBED;
}

bool storage_erasure_is_scrubbing(const struct eraser *eraser)
{
    for (size_t i = 0; i < eraser->erasures->count; i++) {
        const struct erasure_record *erasure = eraser->erasures->at[i];

        if (erasure->state == WEIR_ERASURE_IN_FORCE && !erasure->is_overwritten &&
            erasure->inherited != 0 && !storage_scrub_waits(erasure, weir_now_ms()))
            return true;
    }
    return false;
}

bool storage_erasure_holds_runs(const struct eraser *eraser)
{
    for (size_t i = 0; i < eraser->erasures->count; i++) {
        const struct erasure_record *erasure = eraser->erasures->at[i];

        if (erasure->resolving != NULL || (erasure->is_blank && !erasure->is_thin))
            return true;
    }
    return false;
}

bool storage_erasure_is_half_way(const struct eraser *eraser)
{
    for (size_t i = 0; i < eraser->erasures->count; i++) {
        const struct erasure_record *erasure = eraser->erasures->at[i];

        if (erasure->state == WEIR_ERASURE_IN_FORCE &&
            (!erasure->is_overwritten || !erasure->is_unrefused ||
             (erasure->drops > 0 && !erasure->is_dropped)))
            return true;
    }
    return false;
}

/* ---- troubles ---- */

/* Nothing else stands in the way of an erasure that is being verified. */
static const char *trouble_of(const struct erasure_record *erasure,
                              const struct erase_request *request, struct weir_arena *arena)
{
    if (erasure->failing.trouble != NULL)
        return weir_arena_format(arena,
                                 "it is not verified: %s; let the user that Weir runs as read what "
                                 "is there, or remove it; tried again at least every minute",
                                 erasure->failing.trouble);
    return *storage_drop_trouble(erasure->dropping, arena)
               ? storage_drop_trouble(erasure->dropping, arena)
               : storage_scrub_trouble(request, arena);
}

static bool is_unverified(const struct erasure_record *erasure, const struct erase_request *request)
{
    return erasure->failing.trouble != NULL || request->is_unidentified;
}

enum weir_status storage_erasure_trouble(struct eraser *eraser, uint64_t number,
                                         struct weir_arena *arena, struct msg_erase_is *answer,
                                         struct weir_error *err)
{
    struct erase_request *request = NULL;
    const struct erasure_record *erasure = find_erasure(eraser, number, &request);
    struct pending_troubles pending = {0};
    enum weir_status status = WEIR_OK;

    answer->trouble = erasure != NULL ? trouble_of(erasure, request, arena) : "";
    answer->unverified = erasure != NULL && is_unverified(erasure, request);
    if (!*answer->trouble)
        status = storage_pending_troubles(eraser->store, arena, &pending, err);
    for (size_t i = 0; i < pending.count; i++) {
        if (pending.at[i].erasure == number)
            answer->trouble = pending.at[i].text;
    }
    return status;
}

/* Lists that grow with each erasure; `texts` and `erasures` have an entry for each trouble. */
struct troubles {
    struct weir_arena *arena;
    uint64_t *erasures, *unverified;
    const char **texts;
    size_t count, failed;
};

static void add_troubles(const struct erasure_record *erasure, struct troubles *troubles)
{
    for (size_t i = 0; i < erasure->count && troubles->count < ERASE_TROUBLES_MAX; i++) {
        const struct erase_request *request = erasure->requests[i];

        troubles->texts[troubles->count] = trouble_of(erasure, request, troubles->arena);
        troubles->erasures[troubles->count] = request->number;
        if (*troubles->texts[troubles->count] == '\0')
            continue;
        troubles->count++;
        if (is_unverified(erasure, request))
            troubles->unverified[troubles->failed++] = request->number;
    }
}

enum weir_status storage_erasure_troubles(struct eraser *eraser, struct weir_arena *arena,
                                          struct msg_erase_troubles *answer, struct weir_error *err)
{
    struct pending_troubles pending = {0};
    enum weir_status status = storage_pending_troubles(eraser->store, arena, &pending, err);
    size_t most = ERASE_TROUBLES_MAX + pending.count + 1;
    struct troubles all = {.arena = arena,
                           .erasures = weir_arena_alloc(arena, most * sizeof(*all.erasures)),
                           .unverified = weir_arena_alloc(arena, most * sizeof(*all.unverified)),
                           .texts = weir_arena_alloc(arena, most * sizeof(*all.texts))};

    for (size_t i = 0; eraser->erasures != NULL && i < eraser->erasures->count; i++)
        add_troubles(eraser->erasures->at[i], &all);
    for (size_t i = 0; i < pending.count; i++) {
        all.texts[all.count] = pending.at[i].text;
        all.erasures[all.count++] = pending.at[i].erasure;
    }
    *answer = (struct msg_erase_troubles){.erasures = {all.erasures, all.count},
                                          .troubles = {all.texts, all.count},
                                          .unverified = {all.unverified, all.failed}};
    return status;
}
