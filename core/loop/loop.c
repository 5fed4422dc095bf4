/* The event loop over zmq_poll: a fixed array of sources and one of timers. Owned by one thread.
 *
 * A callback may remove any source or timer, its own too: a removed source stays in the array as a
 * dead entry until the round is over, so that the walk over the array stays valid. */
#include "core/loop/loop.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
    STEP_FOREVER_MS = 60 * 60 * 1000,
    VIRTUAL_WAIT_MS = 1, /* how long a loop on a test's clock lets sockets catch up */
};

struct source {
    weir_loop_ready_fn *fn; /* NULL: removed during this round */
    void *owner;
};

struct timer {
    uint64_t number;
    int64_t due_ms;
    int64_t repeat_ms;
    weir_loop_timer_fn *fn;
    void *owner;
};

struct weir_loop {
    void *zmq;
    zmq_pollitem_t items[WEIR_LOOP_SOURCES_MAX]; /* items[i] is polled for sources[i] */
    struct source sources[WEIR_LOOP_SOURCES_MAX];
    size_t source_count;
    bool has_dead_sources;
    struct timer timers[WEIR_LOOP_TIMERS_MAX]; /* in no order */
    size_t timer_count;
    uint64_t last_timer;
    weir_loop_clock_fn *clock_fn;
    void *clock_owner;
    int64_t now_ms;
    bool in_round;
    bool stopping;
};

struct weir_loop *weir_loop_new(void)
{
    struct weir_loop *loop = weir_calloc(1, sizeof *loop);
    loop->zmq = zmq_ctx_new();
    weir_require(loop->zmq != NULL);
    zmq_ctx_set(loop->zmq, ZMQ_MAX_SOCKETS, WEIR_LOOP_SOURCES_MAX);
    loop->now_ms = weir_now_ms();
    return loop;
}

void weir_loop_free(struct weir_loop *loop)
{
    if (loop == NULL)
        return;
    while (zmq_ctx_term(loop->zmq) != 0 && errno == EINTR)
        ;
    free(loop);
}

void *weir_loop_zmq(struct weir_loop *loop)
{
    return loop->zmq;
}

int64_t weir_loop_clock_ms(const struct weir_loop *loop)
{
    return loop->clock_fn != NULL ? loop->clock_fn(loop->clock_owner) : weir_now_ms();
}

int64_t weir_loop_now_ms(const struct weir_loop *loop)
{
    return loop->now_ms;
}

void weir_loop_use_clock(struct weir_loop *loop, weir_loop_clock_fn *fn, void *owner)
{
    loop->clock_fn = fn;
    loop->clock_owner = owner;
    loop->now_ms = weir_loop_clock_ms(loop);
}

/* ---- sources ---- */

static void add_source(struct weir_loop *loop, const zmq_pollitem_t *item, weir_loop_ready_fn *fn,
                       void *owner)
{
    weir_require(loop->source_count < WEIR_LOOP_SOURCES_MAX);
    weir_require(fn != NULL);
    loop->items[loop->source_count] = *item;
    loop->sources[loop->source_count] = (struct source){.fn = fn, .owner = owner};
    loop->source_count++;
}

static void sweep_dead_sources(struct weir_loop *loop)
{
    size_t kept = 0;
    for (size_t i = 0; i < loop->source_count; i++) {
        if (loop->sources[i].fn == NULL)
            continue;
        loop->items[kept] = loop->items[i];
        loop->sources[kept] = loop->sources[i];
        kept++;
    }
    loop->source_count = kept;
    loop->has_dead_sources = false;
}

/* `socket` NULL: the source of `fd`. */
static void remove_source(struct weir_loop *loop, const void *socket, int fd)
{
    for (size_t i = 0; i < loop->source_count; i++) {
        const zmq_pollitem_t *item = &loop->items[i];
        bool is_it =
            socket != NULL ? item->socket == socket : item->socket == NULL && item->fd == fd;
        if (loop->sources[i].fn != NULL && is_it) {
            loop->sources[i].fn = NULL;
            loop->has_dead_sources = true;
        }
    }
    if (!loop->in_round)
        sweep_dead_sources(loop);
}

void weir_loop_watch_fd(struct weir_loop *loop, int fd, short poll_events, weir_loop_ready_fn *fn,
                        void *owner)
{
    add_source(loop, &(zmq_pollitem_t){.fd = fd, .events = poll_events}, fn, owner);
}

void weir_loop_watch_socket(struct weir_loop *loop, void *socket, weir_loop_ready_fn *fn,
                            void *owner)
{
    weir_require(socket != NULL);
    add_source(loop, &(zmq_pollitem_t){.socket = socket, .events = ZMQ_POLLIN}, fn, owner);
}

void weir_loop_unwatch_fd(struct weir_loop *loop, int fd)
{
    remove_source(loop, NULL, fd);
}

void weir_loop_unwatch_socket(struct weir_loop *loop, void *socket)
{
    if (socket != NULL)
        remove_source(loop, socket, -1);
}

/* ---- timers ---- */

uint64_t weir_loop_timer(struct weir_loop *loop, int64_t delay_ms, int64_t repeat_ms,
                         weir_loop_timer_fn *fn, void *owner)
{
    weir_require(loop->timer_count < WEIR_LOOP_TIMERS_MAX);
    weir_require(fn != NULL && delay_ms >= 0 && repeat_ms >= 0);
    struct timer *timer = &loop->timers[loop->timer_count++];
    *timer = (struct timer){
        .number = ++loop->last_timer,
        .due_ms = weir_loop_clock_ms(loop) + delay_ms,
        .repeat_ms = repeat_ms,
        .fn = fn,
        .owner = owner,
    };
    return timer->number;
}

void weir_loop_cancel(struct weir_loop *loop, uint64_t timer)
{
    for (size_t i = 0; i < loop->timer_count; i++) {
        if (loop->timers[i].number == timer) {
            loop->timers[i] = loop->timers[--loop->timer_count];
            return;
        }
    }
}

void weir_loop_soon(struct weir_loop *loop, weir_loop_timer_fn *fn, void *owner)
{
    weir_loop_timer(loop, 0, 0, fn, owner);
}

/* The timer that has waited longest of those due, or NULL. Timers numbered beyond `newest` were set
 * in this round and wait for the next, or a callback that sets itself anew would keep the loop
 * forever. */
static struct timer *find_due(struct weir_loop *loop, uint64_t newest)
{
    struct timer *due = NULL;
    for (size_t i = 0; i < loop->timer_count; i++) {
        struct timer *timer = &loop->timers[i];
        if (timer->number > newest || timer->due_ms > loop->now_ms)
            continue;
        if (due == NULL || timer->due_ms < due->due_ms ||
            (timer->due_ms == due->due_ms && timer->number < due->number))
            due = timer;
    }
    return due;
}

static void run_timers(struct weir_loop *loop)
{
    uint64_t newest = loop->last_timer;
    struct timer *due;
    while (!loop->stopping && (due = find_due(loop, newest)) != NULL) {
        struct timer timer = *due;
        if (timer.repeat_ms > 0)
            due->due_ms = loop->now_ms + timer.repeat_ms;
        else
            weir_loop_cancel(loop, timer.number);
        timer.fn(timer.owner);
    }
}

/* ---- rounds ---- */

static int64_t until_next_timer(const struct weir_loop *loop, int64_t wait_ms)
{
    int64_t now = weir_loop_clock_ms(loop);
    for (size_t i = 0; i < loop->timer_count; i++) {
        int64_t left = loop->timers[i].due_ms - now;
        wait_ms = left < wait_ms ? left : wait_ms;
    }
    if (loop->clock_fn != NULL && wait_ms > VIRTUAL_WAIT_MS)
        wait_ms = VIRTUAL_WAIT_MS;
    return wait_ms > 0 ? wait_ms : 0;
}

/* Sources added by a callback lie behind `polled` and wait for the next round. */
static void run_ready(struct weir_loop *loop, size_t polled)
{
    for (size_t i = 0; i < polled && !loop->stopping; i++) {
        if (loop->items[i].revents != 0 && loop->sources[i].fn != NULL)
            loop->sources[i].fn(loop->sources[i].owner);
    }
}

void weir_loop_step(struct weir_loop *loop, int64_t wait_ms)
{
    weir_require(!loop->in_round);
    size_t polled = loop->source_count;
    int ready = zmq_poll(loop->items, (int)polled, (long)until_next_timer(loop, wait_ms));
    if (ready < 0 && errno == ETERM) {
        loop->stopping = true;
        return;
    }
    weir_require(ready >= 0 || errno == EINTR);
    loop->now_ms = weir_loop_clock_ms(loop);
    loop->in_round = true;
    if (ready > 0)
        run_ready(loop, polled);
    run_timers(loop);
    loop->in_round = false;
    if (loop->has_dead_sources)
        sweep_dead_sources(loop);
}

void weir_loop_run(struct weir_loop *loop)
{
    while (!loop->stopping)
        weir_loop_step(loop, STEP_FOREVER_MS);
}

void weir_loop_stop(struct weir_loop *loop)
{
    loop->stopping = true;
}

bool weir_loop_stopping(const struct weir_loop *loop)
{
    return loop->stopping;
}
