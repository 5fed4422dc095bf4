/* Samples in a ring of their own order; saved as distances from one to the next, a few bytes each. */
#include "orchestrator/triggers/window.h"
#include "orchestrator/values/json_object.h"

#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/rng.h"
#include "core/config/schema.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_MAX = 63, NUMBERS = 4 };

enum weir_status orchestrator_window_length_read(const char *text,
                                                 const struct weir_yaml_node *node,
                                                 struct window_length *ret_length,
                                                 struct weir_error *err)
{
    struct window_length length = {0};
    char *end = NULL;
    errno = 0;
    unsigned long long samples = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
    if (samples > 0 && errno == 0 && *end == '\0') {
        length.samples = samples;
    } else if (!cfg_parse_duration(text, &length.us) || length.us <= 0) {
        return weir_yaml_fail(node, err,
                              "trigger: expected a length of a window, a number of samples such as "
                              "1000 or a time such as 30d, found '%s'",
                              text);
    }
    *ret_length = length;
    return WEIR_OK;
}

void orchestrator_window_fini(struct window *window)
{
    free(window->at);
}

void orchestrator_window_clear(struct window *window)
{
    window->count = 0;
    window->level = 0;
}

static uint64_t rank_of(uint64_t id)
{
    return weir_mix64(id ^ UINT64_C(0x77696e646f77)); /* drawn for windows alone */
}

static bool is_held(const struct window *window, uint64_t id)
{
    return window->level == 0 || rank_of(id) >> (64 - window->level) == 0;
}

static bool is_young(const struct window *window, const struct window_sample *sample,
                     uint64_t number)
{
    if (window->length.samples > 0)
        return number - sample->number < window->length.samples;
    int64_t age = 0;
    return !__builtin_sub_overflow(window->newest_us, sample->time_us, &age) &&
           age < window->length.us;
}

void orchestrator_window_slide(struct window *window, uint64_t number)
{
    size_t kept = 0;
    for (size_t i = 0; i < window->count; i++)
        if (is_young(window, &window->at[i], number))
            window->at[kept++] = window->at[i];
    window->count = kept;
}

/* Half of what is held goes. */
static void thin(struct window *window)
{
    size_t kept = 0;
    window->level++;
    for (size_t i = 0; i < window->count; i++)
        if (is_held(window, window->at[i].id))
            window->at[kept++] = window->at[i];
    window->count = kept;
}

void orchestrator_window_add(struct window *window, const struct window_sample *sample)
{
    if (window->newest_us < sample->time_us || window->count == 0)
        window->newest_us = sample->time_us;
    if (!is_held(window, sample->id))
        return;
    if (window->count >= window->room)
        orchestrator_window_slide(window, sample->number);
    while (window->count >= window->room && window->level < LEVEL_MAX)
        thin(window);
    if (window->count >= window->room || !is_held(window, sample->id))
        return;
    window->at = weir_grow(window->at, window->count, &window->capacity, sizeof(*window->at));
    window->at[window->count++] = *sample;
}

void orchestrator_window_copy(struct window *window, const struct window *other)
{
    if (window->capacity < other->count) {
        window->capacity = other->count;
        window->at = weir_realloc(window->at, window->capacity, sizeof(*window->at));
    }
    if (other->count > 0)
        memcpy(window->at, other->at, other->count * sizeof(*window->at));
    window->count = other->count;
    window->level = other->level;
    window->newest_us = other->newest_us;
}

void orchestrator_window_forget(struct window *window, struct weir_u64s ids)
{
    size_t kept = 0;
    for (size_t i = 0; i < window->count && ids.count > 0; i++)
        if (bsearch(&window->at[i].id, ids.at, ids.count, sizeof(*ids.at), weir_order_u64) == NULL)
            window->at[kept++] = window->at[i];
    window->count = ids.count > 0 ? kept : window->count;
}

static int compare_ranks(const void *a, const void *b)
{
    uint64_t left = rank_of(*(const uint64_t *)a), right = rank_of(*(const uint64_t *)b);
    return (left > right) - (left < right);
}

uint64_t *orchestrator_window_draw(const struct window *window, size_t most, size_t *ret_count)
{
    uint64_t *ids = weir_calloc(window->count + 1, sizeof(*ids));
    for (size_t i = 0; i < window->count; i++)
        ids[i] = window->at[i].id;
    *ret_count = window->count < most ? window->count : most;
    if (window->count > most)
        qsort(ids, window->count, sizeof(*ids), compare_ranks);
    qsort(ids, *ret_count, sizeof(*ids), weir_order_u64);
    return ids;
}

json_t *orchestrator_window_json(const struct window *window)
{
    json_t *json = JSON_FIELDS(JSON_NUMBER("samples", window->count));
    if (window->count == 0)
        return json;
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < window->count; i++) {
        from = window->at[i].time_us < from ? window->at[i].time_us : from;
        to = window->at[i].time_us > to ? window->at[i].time_us : to;
    }
    json_object_set_new(json, "from", orchestrator_json_time(from));
    json_object_set_new(json, "to", orchestrator_json_time(to));
    return json;
}

/* ---- saved ---- */

/* The distance is folded so that short ones either way are small. */
static void put_distance(struct weir_buf *out, uint64_t from, uint64_t to)
{
    uint64_t distance = to - from;
    weir_buf_append_varint(out, distance << 1 ^ (distance >> 63 != 0 ? UINT64_MAX : 0));
}

static bool take_distance(struct weir_bytes *bytes, uint64_t from, uint64_t *ret_to)
{
    uint64_t folded;
    if (!weir_take_varint(bytes, &folded))
        return false;
    *ret_to = from + (folded >> 1 ^ ((folded & 1) != 0 ? UINT64_MAX : 0));
    return true;
}

void orchestrator_window_save(const struct window *window, struct weir_buf *out)
{
    struct window_sample last = {0};
    weir_buf_append_u64(out, window->count);
    weir_buf_append_u64(out, window->level);
    weir_buf_append_u64(out, (uint64_t)window->newest_us);
    for (size_t i = 0; i < window->count; i++) {
        const struct window_sample *sample = &window->at[i];
        put_distance(out, last.id, sample->id);
        put_distance(out, last.number, sample->number);
        put_distance(out, (uint64_t)last.time_us, (uint64_t)sample->time_us);
        put_distance(out, (uint64_t)last.label, (uint64_t)sample->label);
        last = *sample;
    }
}

static enum weir_status restore_samples(struct window *window, struct weir_bytes *bytes,
                                        struct weir_error *err)
{
    uint64_t last[NUMBERS] = {0};
    for (size_t i = 0; i < window->count; i++) {
        for (size_t k = 0; k < NUMBERS; k++) {
            if (!take_distance(bytes, last[k], &last[k])) {
                window->count = 0;
                return weir_fail(err, WEIR_INVALID,
                                 "saved trigger state: a window ends in sample %zu", i);
            }
        }
        window->at[i] = (struct window_sample){.id = last[0],
                                               .number = last[1],
                                               .time_us = (int64_t)last[2],
                                               .label = (int64_t)last[3]};
    }
    return WEIR_OK;
}

enum weir_status orchestrator_window_restore(struct window *window, struct weir_bytes *bytes,
                                             struct weir_error *err)
{
    uint64_t count = 0, newest = 0;
    enum weir_status status = orchestrator_trigger_take_u64(bytes, &count, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_u64(bytes, &window->level, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_u64(bytes, &newest, err);
    if (status == WEIR_OK &&
        (count > window->room || count > bytes->size / NUMBERS || window->level > LEVEL_MAX)) {
        status =
            weir_fail(err, WEIR_INVALID,
                      "saved trigger state: a window of %llu samples in %zu bytes, expected at "
                      "most %zu samples",
                      (unsigned long long)count, bytes->size, window->room);
    }
    if (status != WEIR_OK)
        return status;
    window->newest_us = (int64_t)newest;
    window->count = (size_t)count;
    window->capacity = window->count;
    window->at = weir_realloc(window->at, window->count + 1, sizeof(*window->at));
    return restore_samples(window, bytes, err);
}
