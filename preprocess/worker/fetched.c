/* Samples that storage read: see fetched.h. */
#include "preprocess/worker/fetched.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <stdlib.h>

void preprocess_fetched_add_file(struct fetched *fetched, uint32_t file)
{
    weir_bits_set(&fetched->files, file);
}

bool preprocess_fetched_has_file(const struct fetched *fetched, uint32_t file)
{
    return weir_bits_get(&fetched->files, file);
}

void preprocess_fetched_drop(struct fetched *fetched)
{
    free(fetched->samples);
    fetched->samples = NULL;
    fetched->count = fetched->known = fetched->next = 0;
    weir_buf_fini(&fetched->bytes);
}

void preprocess_fetched_fini(struct fetched *fetched)
{
    preprocess_fetched_drop(fetched);
    weir_bits_fini(&fetched->files);
    *fetched = (struct fetched){0};
}

void preprocess_fetched_begin(struct fetched *fetched, uint64_t batch,
                              const struct located_sample *samples, size_t count,
                              const struct kept_rows *kept)
{
    uint64_t bytes = 0;
    preprocess_fetched_drop(fetched);
    fetched->batch = batch;
    fetched->samples = weir_calloc(count, sizeof(*fetched->samples));
    for (size_t i = 0; i < count; i++) {
        if (samples[i].state != WEIR_SAMPLE_LIVE ||
            !preprocess_fetched_has_file(fetched, samples[i].file) ||
            preprocess_kept_rows_has(kept, i) ||
            samples[i].length > PREPROCESS_PAYLOAD_BYTES_MAX - bytes)
            continue;
        bytes += samples[i].length;
        fetched->samples[fetched->count++].id = samples[i].id;
    }
}

size_t preprocess_fetched_wanted(const struct fetched *fetched, uint64_t ids[FETCH_IDS_MAX])
{
    size_t left = fetched->count - fetched->known;
    size_t count = left < FETCH_IDS_MAX ? left : FETCH_IDS_MAX;
    for (size_t i = 0; i < count; i++)
        ids[i] = fetched->samples[fetched->known + i].id;
    return count;
}

static bool is_consistent(const struct fetched *fetched, const struct msg_read_is *answer,
                          struct weir_bytes payload)
{
    size_t count = answer->ids.count;
    uint64_t bytes = 0;
    if (count == 0 || count > fetched->count - fetched->known || answer->states.count != count ||
        answer->lengths.count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (answer->ids.at[i] != fetched->samples[fetched->known + i].id ||
            answer->states.at[i] >= WEIR_SAMPLE_STATES ||
            answer->lengths.at[i] > payload.size - bytes)
            return false;
        bytes += answer->lengths.at[i];
    }
    return bytes == payload.size && bytes <= PREPROCESS_PAYLOAD_BYTES_MAX - fetched->bytes.size;
}

enum weir_status preprocess_fetched_take(struct fetched *fetched, const struct msg_read_is *answer,
                                         struct weir_bytes payload, struct weir_error *err)
{
    uint64_t offset = fetched->bytes.size;
    if (!is_consistent(fetched, answer, payload))
        return weir_fail(err, WEIR_INVALID, "read_is: %zu entries, expected the first of %zu ids",
                         answer->ids.count, fetched->count - fetched->known);
    for (size_t i = 0; i < answer->ids.count; i++) {
        struct fetched_sample *sample = &fetched->samples[fetched->known++];
        sample->state = answer->states.at[i];
        sample->offset = offset;
        sample->length = answer->lengths.at[i];
        offset += sample->length;
    }
    weir_buf_append(&fetched->bytes, payload.at, payload.size);
    return WEIR_OK;
}

void preprocess_fetched_give_up(struct fetched *fetched)
{
    for (; fetched->known < fetched->count; fetched->known++)
        fetched->samples[fetched->known].state = WEIR_SAMPLE_GONE;
}

bool preprocess_fetched_has_batch(const struct fetched *fetched, uint64_t batch)
{
    return fetched->samples != NULL && fetched->batch == batch && fetched->known == fetched->count;
}

void preprocess_fetched_rewind(struct fetched *fetched)
{
    fetched->next = 0;
}

const struct fetched_sample *preprocess_fetched_next(struct fetched *fetched, uint64_t id)
{
    size_t at = fetched->next;
    while (at < fetched->known && fetched->samples[at].id != id)
        at++; /* erased meanwhile: no longer asked for */
    if (at == fetched->known)
        return NULL;
    fetched->next = at + 1;
    return &fetched->samples[at];
}
