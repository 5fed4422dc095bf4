/* Work that only computes, on a thread of its own, while the loop goes on: a long choice, a large file. The
 * loop's thread starts it, may ask how far it has come, may ask it to give up, and hears when it is over. What the
 * work looks at is its own from start to end: the loop's thread leaves it alone meanwhile. */
#ifndef WEIR_LOOP_WORK_H
#define WEIR_LOOP_WORK_H

#include "core/loop/loop.h"

#include <stddef.h>

struct weir_work;
struct weir_work_queue;

/* Runs on the thread. Touches neither the loop nor sockets. */
typedef void weir_work_fn(struct weir_work *work, void *owner);
/* Called from the loop once the work is over, given up or not; the work is gone then. */
typedef void weir_work_done_fn(void *owner);

/* LIMIT when there is no thread or descriptor to be had. */
enum weir_status weir_work_start(struct weir_loop *loop, weir_work_fn *run, weir_work_done_fn *done,
                                 void *owner, struct weir_work **ret_work,
                                 struct weir_error *err) WEIR_MUST_USE;
/* Has its end heard of while the loop waits, too (weir_loop_wait()). */
void weir_work_hear_meanwhile(struct weir_work *work);
/* Asks it to give up; it goes on until it looks. */
void weir_work_cancel(struct weir_work *work);
/* Asks it to give up, waits until it has, and frees it; `done` is not called. NULL is fine. */
void weir_work_stop(struct weir_work *work);
/* Asks it to give up, and has `gone` called instead of `done`, from the loop once it has; at once where it has not
 * begun. */
void weir_work_abandon(struct weir_work *work, weir_work_done_fn *gone);

/* Works of one kind: at most `at_once` of them have a thread, the others wait in the order they came in. */
struct weir_work_queue *weir_work_queue_new(struct weir_loop *loop, size_t at_once);
/* Waits until what was abandoned is gone; nothing else may be left. NULL is fine. */
void weir_work_queue_free(struct weir_work_queue *queue);
/* Returns false while any of its works has a thread, or waits for one. */
bool weir_work_queue_is_idle(const struct weir_work_queue *queue);
/* As weir_work_start(), in its turn; where there is no thread to be had, it waits for one. */
struct weir_work *weir_work_enqueue(struct weir_work_queue *queue, weir_work_fn *run,
                                    weir_work_done_fn *done, void *owner);

struct weir_work_progress {
    size_t done;
    size_t total; /* 0: nothing is known yet */
};
struct weir_work_progress weir_work_progress(const struct weir_work *work);

/* For the work itself, often: it has come so far. False: give up. Of no work (NULL): never. */
bool weir_work_goes_on(struct weir_work *work, size_t done, size_t total);

#endif
