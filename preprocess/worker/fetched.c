/* Samples that are not read from files: see fetched.h. */
#include "preprocess/worker/fetched.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <stdlib.h>

/* ---- files ---- */

void preprocess_fetched_add_file(struct fetched *fetched, uint32_t file)
{
    weir_bits_set(&fetched->files, file);
}

void preprocess_fetched_add_object(struct fetched *fetched, uint32_t file)
{
    weir_bits_set(&fetched->files, file);
    weir_bits_set(&fetched->objects, file);
}

bool preprocess_fetched_has_file(const struct fetched *fetched, uint32_t file)
{
    return weir_bits_get(&fetched->files, file);
}

/* ---- life ---- */

void preprocess_fetched_drop(struct fetched *fetched)
{
    free(fetched->samples);
    fetched->samples = NULL;
    fetched->count = fetched->known = fetched->granted = fetched->next = 0;
    weir_buf_fini(&fetched->bytes);
}

void preprocess_fetched_fini(struct fetched *fetched)
{
    preprocess_fetched_drop(fetched);
    weir_bits_fini(&fetched->files);
    weir_bits_fini(&fetched->objects);
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
        fetched->samples[fetched->count++] =
            (struct fetched_sample){.id = samples[i].id,
                                    .length = samples[i].length,
                                    .is_object = samples[i].length >= FETCHED_OBJECT_BYTES_MIN &&
                                                 weir_bits_get(&fetched->objects, samples[i].file)};
    }
}

static void set_there(struct fetched *fetched, struct fetched_sample *sample, uint32_t state)
{
    sample->state = state;
    sample->is_there = true;
    fetched->known++;
}

/* ---- grants ---- */

/* Returns the next sample from `at` on that may be granted; `count`: there is none. */
static size_t next_object(const struct fetched *fetched, size_t at)
{
    while (at < fetched->count && !fetched->samples[at].is_object)
        at++;
    return at;
}

size_t preprocess_fetched_grantable(const struct fetched *fetched, uint64_t ids[FETCH_IDS_MAX])
{
    size_t count = 0;
    for (size_t at = next_object(fetched, fetched->granted);
         at < fetched->count && count < FETCH_IDS_MAX; at = next_object(fetched, at + 1))
        ids[count++] = fetched->samples[at].id;
    return count;
}

enum weir_status preprocess_fetched_note_grants(struct fetched *fetched,
                                                const struct msg_granted *answer,
                                                uint32_t samples[FETCH_IDS_MAX],
                                                struct weir_error *err)
{
    size_t count = answer->ids.count, at = fetched->granted;
    bool is_right = count > 0 && count <= FETCH_IDS_MAX && answer->objects.count == count &&
                    answer->lengths.count == count;
    for (size_t i = 0; is_right && i < count; i++, at++) {
        at = next_object(fetched, at);
        is_right = at < fetched->count && fetched->samples[at].id == answer->ids.at[i];
        bool is_granted = is_right && answer->objects.at[i] != 0 &&
                          answer->lengths.at[i] == fetched->samples[at].length;
        samples[i] = is_granted ? (uint32_t)at : FETCHED_NONE;
    }
    if (!is_right)
        return weir_fail(err, WEIR_INVALID,
                         "granted: %zu ids, expected the first of those that were asked for",
                         count);
    fetched->granted = at;
    return WEIR_OK;
}

void preprocess_fetched_end_grants(struct fetched *fetched)
{
    fetched->granted = fetched->count;
}

void preprocess_fetched_put(struct fetched *fetched, uint32_t sample, const uint8_t *bytes)
{
    struct fetched_sample *put = &fetched->samples[sample];
    put->offset = fetched->bytes.size;
    weir_buf_append(&fetched->bytes, bytes, put->length);
    set_there(fetched, put, WEIR_SAMPLE_LIVE);
}

/* ---- reads ---- */

/* Returns the next sample from `at` on that is not there; `count`: all are. */
static size_t next_missing(const struct fetched *fetched, size_t at)
{
    while (at < fetched->count && fetched->samples[at].is_there)
        at++;
    return at;
}

size_t preprocess_fetched_wanted(const struct fetched *fetched, uint64_t ids[FETCH_IDS_MAX])
{
    size_t left = fetched->count - fetched->known, at = 0;
    size_t count = left < FETCH_IDS_MAX ? left : FETCH_IDS_MAX;
    for (size_t i = 0; i < count; i++, at++) {
        at = next_missing(fetched, at);
        ids[i] = fetched->samples[at].id;
    }
    return count;
}

static bool is_consistent(const struct fetched *fetched, const struct msg_read_is *answer,
                          struct weir_bytes payload)
{
    size_t count = answer->ids.count, at = 0;
    uint64_t bytes = 0;
    if (count == 0 || count > fetched->count - fetched->known || answer->states.count != count ||
        answer->lengths.count != count)
        return false;
    for (size_t i = 0; i < count; i++, at++) {
        at = next_missing(fetched, at);
        if (answer->ids.at[i] != fetched->samples[at].id ||
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
    for (size_t i = 0, at = 0; i < answer->ids.count; i++, at++) {
        at = next_missing(fetched, at);
        struct fetched_sample *sample = &fetched->samples[at];
        sample->offset = offset;
        sample->length = answer->lengths.at[i];
        offset += sample->length;
        set_there(fetched, sample, answer->states.at[i]);
    }
    weir_buf_append(&fetched->bytes, payload.at, payload.size);
    return WEIR_OK;
}

void preprocess_fetched_give_up(struct fetched *fetched)
{
    for (size_t at = next_missing(fetched, 0); at < fetched->count;
         at = next_missing(fetched, at + 1)) {
        fetched->samples[at].length = 0;
        set_there(fetched, &fetched->samples[at], WEIR_SAMPLE_GONE);
    }
}

/* ---- the batch ---- */

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
    while (at < fetched->count && fetched->samples[at].id != id)
        at++; /* erased meanwhile: no longer asked for */
    if (at == fetched->count)
        return NULL;
    fetched->next = at + 1;
    return &fetched->samples[at];
}
