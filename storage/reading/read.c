/* The bytes of samples, for whoever cannot reach the files. */
#include "storage/reading/reading.h"
#include "storage/reading/use_leases.h"

#include "core/base/clock.h"
#include "core/base/crc32c.h"
#include "core/base/fault.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static void open_reading(struct reading *reading, struct weir_arena *arena, size_t count)
{
    *reading = (struct reading){
        .sums = reading->sums,
        .values = reading->values,
        .states = weir_arena_alloc(arena, count * sizeof(*reading->states) + 1),
        .lengths = weir_arena_alloc(arena, count * sizeof(*reading->lengths) + 1),
        .labels = weir_arena_alloc(arena, count * sizeof(*reading->labels) + 1),
        .places = weir_arena_alloc(arena, count * sizeof(*reading->places) + 1),
        .ranges = weir_arena_alloc(arena, count * sizeof(*reading->ranges) + 1),
    };
}

static void add(void *owner, uint32_t number, const struct located *found)
{
    struct reading *reading = owner;

    reading->states[number] = storage_serve_state(reading->sums, found);
    if (reading->states[number] != WEIR_SAMPLE_LIVE)
        return;
    reading->lengths[number] = found->length;
    reading->labels[number] = found->label;
    storage_answer_values_put(&reading->values, number, found);
    reading->ranges[reading->range_count++] = (struct gather_range){
        .dataset = found->dataset,
        .file = found->file,
        .offset = found->offset,
        .length = found->length,
        .number = number,
    };
}

/* As many as fit; LIMIT when the first sample alone is too long. */
static enum weir_status cut(struct reading *reading, const struct weir_u64s *ids,
                            struct weir_error *err)
{
    while (reading->count < ids->count) {
        uint64_t length = reading->lengths[reading->count];

        if (length > READ_BYTES_MAX)
            break;
        if (reading->bytes > 0 && reading->bytes + length > reading->room)
            return WEIR_OK;
        reading->places[reading->count++] = reading->bytes;
        reading->bytes += length;
    }
    if (reading->count > 0 || ids->count == 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_LIMIT, "read: sample %llu has %llu bytes, at most %d can be",
                     (unsigned long long)ids->at[0], (unsigned long long)reading->lengths[0],
                     READ_BYTES_MAX);
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
            storage_answer_values_drop(&reading->values, i);
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

/* Ranges of samples that the answer does not cover are left out. */
static void place_ranges(struct reading *reading, uint8_t *payload)
{
    size_t kept = 0;

    for (size_t i = 0; i < reading->range_count; i++) {
        struct gather_range range = reading->ranges[i];

        if (range.number >= reading->count)
            continue;
        range.to = payload + reading->places[range.number];
        reading->ranges[kept++] = range;
    }
    reading->range_count = kept;
}

/* Returns how many bytes of `payload` are of samples, once all ranges are read that can be. */
static size_t settle(struct reading *reading, uint8_t *payload)
{
    return is_complete(reading) ? reading->bytes : close_gaps(reading, payload);
}

/* Returns how many bytes of `payload` are of samples. */
static size_t read_payload(const struct gather_from *from, struct reading *reading,
                           uint8_t *payload)
{
    place_ranges(reading, payload);
    storage_gather(from, reading->ranges, reading->range_count);
    return settle(reading, payload);
}

/* Into the loan if the samples fit, else into a frame. Returns how many bytes of the loan hold them. */
static uint64_t deliver(const struct gather_from *from, struct reading *reading,
                        const struct weir_loan *loan, struct weir_frames *frames)
{
    bool is_lent = loan->at != NULL && reading->bytes <= loan->size;
    uint8_t *payload = is_lent ? loan->at : weir_aligned_alloc(reading->bytes);
    size_t size = read_payload(from, reading, payload);

    if (is_lent && size > 0)
        return size;
    if (is_lent)
        weir_frames_copy(frames, NULL, 0);
    else
        weir_frames_give(frames, payload, size);
    return 0;
}

enum weir_status storage_reading_check(const struct msg_read *asked, struct weir_error *err)
{
    if (asked->ids.count <= READ_IDS_MAX)
        return WEIR_OK;
    return weir_fail(err, WEIR_LIMIT, "read.ids: found %zu, expected at most %d", asked->ids.count,
                     READ_IDS_MAX);
}

/* Finds the samples, and cuts the answer to `room` bytes. */
static enum weir_status plan(const struct serving *serving, const struct msg_read *asked,
                             uint64_t room, struct weir_arena *arena, struct reading *reading,
                             struct weir_error *err)
{
    struct weir_u64s ids = asked->ids;
    enum weir_status status = storage_readable(serving->store, err);

    if (status == WEIR_OK)
        status = storage_reading_check(asked, err);
    if (status != WEIR_OK)
        return status;
    reading->sums = serving->sums;
    ids.count = storage_answer_values_open(serving->store, &asked->ids, arena, &reading->values);
    open_reading(reading, arena, ids.count);
    reading->room = room;
    reading->epoch = storage_leases_epoch(serving->leases);
    status = storage_find_all(serving->store, &ids, arena, add, reading, err);
    return status == WEIR_OK ? cut(reading, &ids, err) : status;
}

static struct msg_read_is tell(const struct reading *reading, const struct msg_read *asked)
{
    return (struct msg_read_is){
        .epoch = reading->epoch,
        .states = {reading->states, reading->count},
        .lengths = {reading->lengths, reading->count},
        .labels = {reading->labels, reading->count},
        .ids = {asked->ids.at, reading->count},
        .label_width = reading->values.width,
        .value_type = reading->values.type,
        .label_values = {reading->values.at, reading->count * reading->values.row_bytes},
    };
}

enum weir_status storage_read(const struct serving *serving, const struct msg_read *asked,
                              struct weir_arena *arena, struct msg_read_is *answer,
                              struct weir_frames *frames, struct weir_error *err)
{
    struct weir_loan loan = {.at = NULL};
    struct reading reading;
    uint64_t written = 0, room = READ_ANSWER_BYTES;
    enum weir_status status;

    if (weir_loan_claim(serving->borrowed, asked->loan, &loan) && loan.size < room)
        room = loan.size;
    status = plan(serving, asked, room, arena, &reading, err);
    if (status == WEIR_OK)
        written = deliver(serving->from, &reading, &loan, frames);
    if (written > 0 && weir_fault("storage.read.loan"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.read.loan");
    weir_loan_end(&loan, status == WEIR_OK && written > 0);
    if (status != WEIR_OK)
        return status;
    *answer = tell(&reading, asked);
    answer->written = written;
    return WEIR_OK;
}

/* ---- on a thread ---- */

enum weir_status storage_reading_plan(const struct serving *serving, const struct msg_read *asked,
                                      struct weir_arena *arena, struct reading *reading,
                                      struct weir_error *err)
{
    enum weir_status status = plan(serving, asked, READ_ANSWER_BYTES, arena, reading, err);

    if (status != WEIR_OK)
        return status;
    reading->payload = weir_aligned_alloc(reading->bytes);
    reading->record_sums = weir_arena_alloc(arena, (reading->count + 1) * sizeof(uint32_t));
    place_ranges(reading, reading->payload);
    storage_gather_prepare(serving->from, reading->ranges, reading->range_count, arena);
    return WEIR_OK;
}

static void sum_records(struct reading *reading)
{
    const uint8_t *at = reading->payload;

    for (size_t i = 0; i < reading->count; i++) {
        bool is_live = reading->states[i] == WEIR_SAMPLE_LIVE;

        reading->record_sums[i] = is_live ? weir_crc32c(weir_bytes(at, reading->lengths[i])) : 0;
        at += reading->lengths[i];
    }
}

static void compress(struct reading *reading, enum weir_compression how)
{
    int64_t begun_ns = weir_now_ns();

    reading->packed =
        weir_compress(how, weir_bytes(reading->payload, reading->size), &reading->packed_size);
    reading->compress_ns = weir_now_ns() - begun_ns;
    reading->compression = reading->packed != NULL ? how : WEIR_COMPRESSION_NONE;
}

void storage_reading_do(struct reading *reading, const struct storage_secret *secret, bool sums,
                        enum weir_compression how)
{
    storage_gather_apart(secret, reading->ranges, reading->range_count);
    reading->size = settle(reading, reading->payload);
    if (sums)
        sum_records(reading);
    else
        compress(reading, how);
}

void storage_reading_tell(struct reading *reading, const struct msg_read *asked,
                          struct msg_read_is *answer, struct weir_frames *frames)
{
    *answer = tell(reading, asked);
    answer->compression = reading->compression;
    answer->compress_ns = reading->compress_ns;
    if (asked->sums) {
        answer->sums = (struct weir_u32s){reading->record_sums, reading->count};
    } else if (reading->packed != NULL) {
        answer->expanded = reading->size;
        weir_frames_give(frames, WEIR_TAKE(reading->packed), reading->packed_size);
    } else {
        weir_frames_give(frames, WEIR_TAKE(reading->payload), reading->size);
    }
}

void storage_reading_end(struct reading *reading)
{
    free(reading->payload);
    free(reading->packed);
    *reading = (struct reading){0};
}
