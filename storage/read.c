/* The bytes of samples, for whoever cannot reach the files. */
#include "storage/gather.h"
#include "storage/serve.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What is being answered: a prefix of the ids asked for. */
struct reading {
    size_t count;
    uint32_t *states;
    uint64_t *lengths;
    int64_t *labels;
    uint64_t bytes; /* of the live samples together */
    struct gather_range *ranges;
    size_t range_count;
};

static void open_reading(struct reading *reading, struct weir_arena *arena, size_t count)
{
    *reading = (struct reading){
        .states = weir_arena_alloc(arena, count * sizeof *reading->states + 1),
        .lengths = weir_arena_alloc(arena, count * sizeof *reading->lengths + 1),
        .labels = weir_arena_alloc(arena, count * sizeof *reading->labels + 1),
        .ranges = weir_arena_alloc(arena, count * sizeof *reading->ranges + 1),
    };
}

/* False when the answer is long enough without this sample. */
static bool add(struct reading *reading, const struct located *found)
{
    size_t i = reading->count;

    if (found->state == WEIR_SAMPLE_LIVE) {
        if (reading->bytes > 0 && reading->bytes + found->length > READ_ANSWER_BYTES)
            return false;
        reading->ranges[reading->range_count++] = (struct gather_range){
            .dataset = found->dataset,
            .file = found->file,
            .offset = found->offset,
            .length = found->length,
            .number = (uint32_t)i,
        };
        reading->bytes += found->length;
        reading->lengths[i] = found->length;
        reading->labels[i] = found->label;
    }
    reading->states[i] = found->state;
    reading->count++;
    return true;
}

static enum weir_status find_all(struct storage *storage, const struct weir_u64s *ids,
                                 struct reading *reading, struct weir_error *err)
{
    struct finder finder = {.storage = storage};

    for (size_t i = 0; i < ids->count; i++) {
        struct located found;
        enum weir_status status = storage_find_next(&finder, ids->at[i], &found, err);

        if (status != WEIR_OK)
            return status;
        if (found.state == WEIR_SAMPLE_LIVE && found.length > READ_BYTES_MAX)
            return weir_fail(err, WEIR_LIMIT, "read: sample %llu has %llu bytes, at most %d can be",
                             (unsigned long long)ids->at[i], (unsigned long long)found.length,
                             READ_BYTES_MAX);
        if (!add(reading, &found))
            break;
    }
    return WEIR_OK;
}

/* Takes the samples that could not be read out of the payload. */
static size_t close_gaps(struct reading *reading, uint8_t *payload)
{
    size_t from = 0, to = 0;

    for (size_t i = 0; i < reading->range_count; i++) {
        const struct gather_range *range = &reading->ranges[i];

        if (!range->is_read)
            reading->states[range->number] = WEIR_SAMPLE_GONE;
    }
    for (size_t i = 0; i < reading->count; i++) {
        size_t length = reading->lengths[i];

        if (reading->states[i] == WEIR_SAMPLE_LIVE) {
            memmove(payload + to, payload + from, length);
            to += length;
        } else {
            reading->lengths[i] = 0;
            reading->labels[i] = 0;
        }
        from += length;
    }
    return to;
}

static bool is_complete(const struct reading *reading)
{
    for (size_t i = 0; i < reading->range_count; i++) {
        if (!reading->ranges[i].is_read)
            return false;
    }
    return true;
}

static void read_payload(struct storage *storage, struct reading *reading,
                         struct weir_frames *frames)
{
    uint8_t *payload = weir_aligned_alloc(reading->bytes);
    size_t size = reading->bytes;
    uint8_t *to = payload;

    for (size_t i = 0; i < reading->range_count; i++) {
        reading->ranges[i].to = to;
        to += reading->ranges[i].length;
    }
    storage_gather(storage->files, &storage->secret, reading->ranges, reading->range_count);
    if (!is_complete(reading))
        size = close_gaps(reading, payload);
    weir_frames_give(frames, payload, size);
}

enum weir_status storage_read(struct storage *storage, const struct msg_read *asked,
                              struct weir_arena *arena, struct msg_read_is *answer,
                              struct weir_frames *frames, struct weir_error *err)
{
    size_t count = asked->ids.count;
    struct reading reading;
    enum weir_status status = storage_ready(storage, err);

    if (status != WEIR_OK)
        return status;
    if (count > READ_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT, "read.ids: found %zu, expected at most %d", count,
                         READ_IDS_MAX);
    open_reading(&reading, arena, count);
    status = find_all(storage, &asked->ids, &reading, err);
    if (status != WEIR_OK)
        return status;
    read_payload(storage, &reading, frames);
    *answer = (struct msg_read_is){
        .epoch = storage_erasure_epoch(storage->erasure),
        .states = {reading.states, reading.count},
        .lengths = {reading.lengths, reading.count},
        .labels = {reading.labels, reading.count},
        .ids = {asked->ids.at, reading.count},
    };
    return WEIR_OK;
}
