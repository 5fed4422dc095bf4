/* A window of the stream: the newest so many samples, or those of the newest so much event time. It
 * holds at most `room` of them: when there are more, those stay whose hash is low, half as many
 * each time, so that what stays is a random sample of the window, the same however the stream is
 * cut. Pure; part of the state of policies. */
#ifndef ORCHESTRATOR_TRIGGERS_WINDOW_H
#define ORCHESTRATOR_TRIGGERS_WINDOW_H

#include "orchestrator/triggers/trigger.h"

struct window_sample {
    uint64_t id;
    uint64_t number; /* of the samples of the stream, from 1 */
    int64_t time_us;
    int64_t label; /* 0 where nobody asks */
};

/* Exactly one of the two is positive. */
struct window_length {
    uint64_t samples;
    int64_t us;
};

/* In the order they came. Zero-initialised but for `length` and `room` is empty. */
struct window {
    struct window_length length;
    size_t room;
    struct window_sample *at;
    size_t count, capacity;
    uint64_t level; /* one of 2^level samples is held */
    int64_t newest_us;
};

/* "1000" or "30d". INVALID, with the place of `node`, otherwise. */
enum weir_status orchestrator_window_length_read(const char *text,
                                                 const struct weir_yaml_node *node,
                                                 struct window_length *ret_length,
                                                 struct weir_error *err) WEIR_MUST_USE;

void orchestrator_window_fini(struct window *window);
void orchestrator_window_clear(struct window *window);
/* `sample` is the newest of the stream. */
void orchestrator_window_add(struct window *window, const struct window_sample *sample);
/* Lets go of what is too old now that `number` samples have come. */
void orchestrator_window_slide(struct window *window, uint64_t number);
/* `window` holds what `other` holds. */
void orchestrator_window_copy(struct window *window, const struct window *other);
/* Lets go of these samples; `ids` ascend. */
void orchestrator_window_forget(struct window *window, struct weir_u64s ids);

/* At most `most` of its ids, those whose hash is lowest, ascending; the caller frees. */
uint64_t *orchestrator_window_draw(const struct window *window, size_t most,
                                   size_t *ret_count) WEIR_MUST_USE;
/* {"samples", "from", "to"}: what a decision says of it. */
json_t *orchestrator_window_json(const struct window *window);

void orchestrator_window_save(const struct window *window, struct weir_buf *out);
enum weir_status orchestrator_window_restore(struct window *window, struct weir_bytes *bytes,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
