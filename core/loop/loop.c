/* The event loop over poll(): an array of sources and a heap of timers, both growing with use. Owned by one thread.
 *
 * To ask a ZeroMQ socket for its events takes two system calls; its descriptor tells of news, but once, to whichever
 * call on the socket comes first. So a socket is asked when its descriptor says so, when it was used since it was last
 * found empty, and before the loop sleeps.
 *
 * A callback may remove any source or timer, its own too: a removed source stays in the array as a
 * dead entry until the round is over, so that the walk over the array stays valid. */
#include "core/loop/loop.h"

#include "core/base/clock.h"
#include "core/base/heap.h"
#include "core/base/memory.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
    STEP_FOREVER_MS = 60 * 60 * 1000,
    TURNS_NS_BITS = 36,  /* 69 s of turns are looked at together */
    VIRTUAL_WAIT_MS = 1, /* how long a loop on a test's clock lets sockets catch up */
};

struct source {
    weir_loop_ready_fn *fn; /* NULL: removed during this round */
    void *owner;
    void *socket; /* of ZeroMQ; NULL: a descriptor */
    bool is_used; /* the socket may have news that its descriptor has told already */
    bool is_ready;
};

struct sources {
    struct pollfd *items; /* items[i] is polled for at[i] */
    struct source *at;
    size_t count, capacity;
    bool has_dead;
    bool is_walked;
};

/* A slot for a timer. Free slots form a list; used ones are in the heap. */
struct timer {
    uint64_t serial; /* ascends with every timer set: order among those due at the same time */
    /* of the slot: tells its timers apart, so that finished ones can be cancelled */
    uint32_t generation;
    uint32_t heap_at; /* free: the next free slot */
    int64_t due_ms;
    int64_t repeat_ms;
    weir_loop_timer_fn *fn;
    void *owner;
};

/* The longest of those that ended in this minute or so, and in the one before. */
struct turns {
    int64_t began_ns; /* the one at hand; 0: none yet */
    int64_t minute;
    int64_t longest_ns, before_ns;
};

struct weir_loop {
    void *zmq;
    struct sources sources;
    struct sources meanwhile; /* polled by weir_loop_wait() */
    struct timer *timers;     /* slots */
    uint32_t *heap;           /* slots in use, the first one due in front */
    uint32_t timer_count, timer_capacity, free_timer;
    uint64_t last_serial;
    weir_loop_clock_fn *clock_fn;
    void *clock_owner;
    int64_t now_ms;
    int64_t before_ms; /* `now_ms` of the round before */
    struct turns turns;
    bool stopping;
};

struct weir_loop *weir_loop_new(void)
{
    struct weir_loop *loop = weir_calloc(1, sizeof(*loop));
    loop->zmq = zmq_ctx_new();
    weir_require(loop->zmq != NULL);
    zmq_ctx_set(loop->zmq, ZMQ_MAX_SOCKETS, WEIR_LOOP_SOCKETS_MAX);
    loop->now_ms = weir_now_ms();
    loop->before_ms = loop->now_ms;
    return loop;
}

void weir_loop_use_io_threads(struct weir_loop *loop, int threads)
{
    int rc = zmq_ctx_set(loop->zmq, ZMQ_IO_THREADS, threads);
    weir_require(rc == 0);
}

static void fini_sources(struct sources *sources)
{
    free(sources->items);
    free(sources->at);
}

void weir_loop_free(struct weir_loop *loop)
{
    if (loop == NULL)
        return;
    while (zmq_ctx_term(loop->zmq) != 0 && errno == EINTR)
        ;
    fini_sources(&loop->sources);
    fini_sources(&loop->meanwhile);
    free(loop->timers);
    free(loop->heap);
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

int64_t weir_loop_before_ms(const struct weir_loop *loop)
{
    return loop->before_ms;
}

void weir_loop_use_clock(struct weir_loop *loop, weir_loop_clock_fn *fn, void *owner)
{
    loop->clock_fn = fn;
    loop->clock_owner = owner;
    loop->now_ms = weir_loop_clock_ms(loop);
    loop->before_ms = loop->now_ms;
}

/* ---- sources ---- */

static void make_room_for_source(struct sources *sources)
{
    if (sources->count < sources->capacity)
        return;
    sources->capacity = 2 * sources->capacity + 16;
    sources->items = weir_realloc(sources->items, sources->capacity, sizeof(*sources->items));
    sources->at = weir_realloc(sources->at, sources->capacity, sizeof(*sources->at));
}

static void add_source(struct sources *sources, const struct pollfd *item,
                       const struct source *source)
{
    weir_require(source->fn != NULL);
    make_room_for_source(sources);
    sources->items[sources->count] = *item;
    sources->at[sources->count++] = *source;
}

static void add_fd(struct sources *sources, int fd, short poll_events, weir_loop_ready_fn *fn,
                   void *owner)
{
    add_source(sources, &(struct pollfd){.fd = fd, .events = poll_events},
               &(struct source){.fn = fn, .owner = owner});
}

static void add_socket(struct sources *sources, void *socket, weir_loop_ready_fn *fn, void *owner)
{
    struct pollfd item = {.events = POLLIN};
    size_t size = sizeof(item.fd);
    weir_require(socket != NULL);
    int rc = zmq_getsockopt(socket, ZMQ_FD, &item.fd, &size);
    weir_require(rc == 0);
    add_source(sources, &item,
               &(struct source){.fn = fn, .owner = owner, .socket = socket, .is_used = true});
}

static void sweep_dead_sources(struct sources *sources)
{
    size_t kept = 0;
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->at[i].fn == NULL)
            continue;
        sources->items[kept] = sources->items[i];
        sources->at[kept] = sources->at[i];
        kept++;
    }
    sources->count = kept;
    sources->has_dead = false;
}

/* `socket` NULL: the source of `fd`. */
static void remove_source(struct sources *sources, const void *socket, int fd)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = &sources->at[i];
        bool is_it = socket != NULL ? source->socket == socket
                                    : source->socket == NULL && sources->items[i].fd == fd;
        if (source->fn != NULL && is_it) {
            source->fn = NULL;
            sources->has_dead = true;
        }
    }
    if (!sources->is_walked)
        sweep_dead_sources(sources);
}

void weir_loop_watch_fd(struct weir_loop *loop, int fd, short poll_events, weir_loop_ready_fn *fn,
                        void *owner)
{
    add_fd(&loop->sources, fd, poll_events, fn, owner);
}

void weir_loop_watch_socket(struct weir_loop *loop, void *socket, weir_loop_ready_fn *fn,
                            void *owner)
{
    add_socket(&loop->sources, socket, fn, owner);
}

void weir_loop_watch_fd_meanwhile(struct weir_loop *loop, int fd, short poll_events,
                                  weir_loop_ready_fn *fn, void *owner)
{
    add_fd(&loop->meanwhile, fd, poll_events, fn, owner);
}

void weir_loop_watch_socket_meanwhile(struct weir_loop *loop, void *socket, weir_loop_ready_fn *fn,
                                      void *owner)
{
    add_socket(&loop->meanwhile, socket, fn, owner);
}

static void note_use(struct sources *sources, const void *socket)
{
    for (size_t i = 0; i < sources->count; i++)
        sources->at[i].is_used = sources->at[i].is_used || sources->at[i].socket == socket;
}

void weir_loop_socket_used(struct weir_loop *loop, const void *socket)
{
    note_use(&loop->sources, socket);
    note_use(&loop->meanwhile, socket);
}

static void remove_everywhere(struct weir_loop *loop, const void *socket, int fd)
{
    remove_source(&loop->sources, socket, fd);
    remove_source(&loop->meanwhile, socket, fd);
}

void weir_loop_unwatch_fd(struct weir_loop *loop, int fd)
{
    remove_everywhere(loop, NULL, fd);
}

void weir_loop_unwatch_socket(struct weir_loop *loop, void *socket)
{
    if (socket != NULL)
        remove_everywhere(loop, socket, -1);
}

/* ---- timers ---- */

enum { SLOT_BITS = 32, NO_SLOT = 0 }; /* slot 0 is never used: no timer has the number 0 */

static bool is_before(const void *a, const void *b, const void *owner)
{
    const struct timer *timers = ((const struct weir_loop *)owner)->timers;
    const struct timer *x = &timers[*(const uint32_t *)a], *y = &timers[*(const uint32_t *)b];
    return x->due_ms != y->due_ms ? x->due_ms < y->due_ms : x->serial < y->serial;
}

static void moved(void *owner, const void *slot, size_t to)
{
    ((struct weir_loop *)owner)->timers[*(const uint32_t *)slot].heap_at = (uint32_t)to;
}

static const struct weir_heap_order BY_DUE = {
    .element_bytes = sizeof(uint32_t), .is_before = is_before, .moved = moved};

/* A timer that stands at `at` with another due time than it was placed with. */
static void sift(struct weir_loop *loop, size_t at)
{
    at = weir_heap_rise(&BY_DUE, loop->heap, at, loop);
    weir_heap_sink(&BY_DUE, loop->heap, loop->timer_count, at, loop);
}

static void add_slots(struct weir_loop *loop)
{
    uint32_t first = loop->timer_capacity == 0 ? 1 : loop->timer_capacity;
    loop->timer_capacity = 2 * loop->timer_capacity + 16;
    loop->timers = weir_realloc(loop->timers, loop->timer_capacity, sizeof(*loop->timers));
    loop->heap = weir_realloc(loop->heap, loop->timer_capacity, sizeof(*loop->heap));
    for (uint32_t slot = loop->timer_capacity; slot-- > first;) {
        loop->timers[slot] = (struct timer){.heap_at = loop->free_timer};
        loop->free_timer = slot;
    }
}

static uint32_t take_slot(struct weir_loop *loop)
{
    if (loop->free_timer == NO_SLOT)
        add_slots(loop);
    uint32_t slot = loop->free_timer;
    loop->free_timer = loop->timers[slot].heap_at;
    return slot;
}

uint64_t weir_loop_timer(struct weir_loop *loop, int64_t delay_ms, int64_t repeat_ms,
                         weir_loop_timer_fn *fn, void *owner)
{
    weir_require(fn != NULL && delay_ms >= 0 && repeat_ms >= 0);
    uint32_t slot = take_slot(loop);
    struct timer *timer = &loop->timers[slot];
    *timer = (struct timer){
        .serial = ++loop->last_serial,
        .generation = timer->generation + 1,
        .due_ms = weir_loop_clock_ms(loop) + delay_ms,
        .repeat_ms = repeat_ms,
        .fn = fn,
        .owner = owner,
    };
    loop->heap[loop->timer_count] = slot;
    weir_heap_rise(&BY_DUE, loop->heap, loop->timer_count++, loop);
    return (uint64_t)timer->generation << SLOT_BITS | slot;
}

static void remove_timer(struct weir_loop *loop, uint32_t slot)
{
    struct timer *timer = &loop->timers[slot];
    uint32_t at = timer->heap_at, last = loop->heap[--loop->timer_count];
    if (last != slot) {
        loop->heap[at] = last;
        sift(loop, at);
    }
    timer->fn = NULL;
    timer->heap_at = loop->free_timer;
    loop->free_timer = slot;
}

void weir_loop_cancel(struct weir_loop *loop, uint64_t timer)
{
    uint32_t slot = (uint32_t)timer, generation = (uint32_t)(timer >> SLOT_BITS);
    if (slot != NO_SLOT && slot < loop->timer_capacity && loop->timers[slot].fn != NULL &&
        loop->timers[slot].generation == generation)
        remove_timer(loop, slot);
}

void weir_loop_soon(struct weir_loop *loop, weir_loop_timer_fn *fn, void *owner)
{
    weir_loop_timer(loop, 0, 0, fn, owner);
}

/* Timers numbered beyond `newest` were set in this round and wait for the next, or a callback that sets its
 * timer again would keep the loop forever. They are due last: whatever stands after one is not due either. */
static struct timer *find_due(const struct weir_loop *loop, uint64_t newest)
{
    struct timer *first = loop->timer_count > 0 ? &loop->timers[loop->heap[0]] : NULL;
    return first != NULL && first->serial <= newest && first->due_ms <= loop->now_ms ? first : NULL;
}

static void run_timers(struct weir_loop *loop)
{
    uint64_t newest = loop->last_serial;
    struct timer *due;
    while (!loop->stopping && (due = find_due(loop, newest)) != NULL) {
        struct timer timer = *due;
        if (timer.repeat_ms > 0) {
            due->due_ms = loop->now_ms + timer.repeat_ms;
            sift(loop, due->heap_at);
        } else {
            remove_timer(loop, loop->heap[0]);
        }
        timer.fn(timer.owner);
    }
}

/* ---- turns ---- */

static void pass_minutes(struct turns *turns, int64_t now_ns)
{
    int64_t minute = now_ns >> TURNS_NS_BITS;
    if (minute == turns->minute)
        return;
    turns->before_ns = minute == turns->minute + 1 ? turns->longest_ns : 0;
    turns->longest_ns = 0;
    turns->minute = minute;
}

static void end_turn(struct turns *turns)
{
    int64_t now_ns = weir_now_ns(), took_ns = now_ns - turns->began_ns;
    pass_minutes(turns, now_ns);
    if (turns->began_ns != 0 && took_ns > turns->longest_ns)
        turns->longest_ns = took_ns;
}

/* Asks a socket whether it can be read. False when its context is terminated. */
static bool ask(struct source *source)
{
    int events = 0;
    size_t size = sizeof(events);
    if (zmq_getsockopt(source->socket, ZMQ_EVENTS, &events, &size) != 0) {
        weir_require(errno == ETERM || errno == EINTR);
        return errno != ETERM;
    }
    source->is_ready = (events & ZMQ_POLLIN) != 0;
    source->is_used = source->is_ready; /* its handler may leave something behind */
    return true;
}

/* Asks the sockets that were used, or all of them. Returns how many can be read; -1: the context is terminated. */
static int ask_used(struct sources *sources, size_t count, bool all)
{
    int ready = 0;
    for (size_t i = 0; i < count; i++) {
        struct source *source = &sources->at[i];
        source->is_ready = false;
        if (source->socket != NULL && (all || source->is_used) && !ask(source))
            return -1;
        ready += source->is_ready;
    }
    return ready;
}

/* Asks the sockets whose descriptors have told of news. */
static int ask_told(struct sources *sources, size_t count)
{
    int ready = 0;
    for (size_t i = 0; i < count; i++) {
        struct source *source = &sources->at[i];
        bool is_told = source->socket != NULL && sources->items[i].revents != 0;
        if (is_told && !source->is_ready && !ask(source))
            return -1;
        if (source->socket != NULL)
            sources->items[i].revents = source->is_ready ? POLLIN : 0;
        ready += sources->items[i].revents != 0;
    }
    return ready;
}

/* Polls the first `count`. A socket whose news were those of a message that is not whole yet has it sleep on. Returns
 * how many are ready; -1 with EINTR, or with ETERM when the context is terminated. */
static int poll_sources(struct sources *sources, size_t count, int64_t wait_ms)
{
    int64_t end_ms = wait_ms > 0 ? weir_now_ms() + wait_ms : 0;
    int ready, told;
    do {
        ready = ask_used(sources, count, wait_ms != 0);
        if (ready < 0)
            return -1;
        told = poll(sources->items, (nfds_t)count, ready > 0 ? 0 : (int)wait_ms);
        if (told < 0)
            return -1;
        ready = ask_told(sources, count);
        wait_ms = wait_ms > 0 ? end_ms - weir_now_ms() : wait_ms;
    } while (ready == 0 && told > 0 && wait_ms != 0 && (end_ms == 0 || wait_ms > 0));
    return ready;
}

/* Polls; who is called before the next time has this turn. */
static int poll_items(struct turns *turns, struct sources *sources, size_t count, int64_t wait_ms)
{
    end_turn(turns);
    int rc = poll_sources(sources, count, wait_ms);
    turns->began_ns = weir_now_ns();
    return rc;
}

int64_t weir_loop_longest_turn_ns(const struct weir_loop *loop)
{
    struct turns turns = loop->turns;
    pass_minutes(&turns, weir_now_ns());
    return turns.longest_ns > turns.before_ns ? turns.longest_ns : turns.before_ns;
}

/* ---- rounds ---- */

static int64_t until_next_timer(const struct weir_loop *loop, int64_t wait_ms)
{
    int64_t now = weir_loop_clock_ms(loop);
    if (loop->timer_count > 0) {
        int64_t left = loop->timers[loop->heap[0]].due_ms - now;
        wait_ms = left < wait_ms ? left : wait_ms;
    }
    if (loop->clock_fn != NULL && wait_ms > VIRTUAL_WAIT_MS)
        wait_ms = VIRTUAL_WAIT_MS;
    return wait_ms > 0 ? wait_ms : 0;
}

/* Sources added by a callback lie after `polled` and wait for the next round. */
static void run_ready(const struct weir_loop *loop, const struct sources *sources, size_t polled)
{
    for (size_t i = 0; i < polled && !loop->stopping; i++) {
        if (sources->items[i].revents != 0 && sources->at[i].fn != NULL)
            sources->at[i].fn(sources->at[i].owner);
    }
}

void weir_loop_step(struct weir_loop *loop, int64_t wait_ms)
{
    struct sources *sources = &loop->sources;
    weir_require(!sources->is_walked);
    size_t polled = sources->count;
    int ready = poll_items(&loop->turns, sources, polled, until_next_timer(loop, wait_ms));
    if (ready < 0 && errno == ETERM) {
        loop->stopping = true;
        return;
    }
    weir_require(ready >= 0 || errno == EINTR);
    loop->before_ms = loop->now_ms;
    loop->now_ms = weir_loop_clock_ms(loop);
    sources->is_walked = true;
    if (ready > 0)
        run_ready(loop, sources, polled);
    run_timers(loop);
    sources->is_walked = false;
    if (sources->has_dead)
        sweep_dead_sources(sources);
}

/* Polls the awaited descriptor after the sources, in room that is theirs. Returns true when it is ready. */
static bool poll_meanwhile(struct turns *turns, struct sources *sources, int fd, short poll_events,
                           int64_t wait_ms)
{
    make_room_for_source(sources);
    struct pollfd *awaited = &sources->items[sources->count];
    *awaited = (struct pollfd){.fd = fd, .events = poll_events};
    sources->at[sources->count] = (struct source){.fn = NULL};
    int rc = poll_items(turns, sources, sources->count + 1, wait_ms);
    weir_require(rc >= 0 || errno == EINTR);
    for (size_t i = 0; rc < 0 && i <= sources->count; i++)
        sources->items[i].revents = 0;
    return awaited->revents != 0;
}

/* A loop that is to stop no longer calls anybody. */
static bool poll_alone(struct turns *turns, int fd, short poll_events, int64_t wait_ms)
{
    struct pollfd item;
    struct source source;
    struct sources none = {.items = &item, .at = &source, .capacity = 1};
    return poll_meanwhile(turns, &none, fd, poll_events, wait_ms);
}

static bool step_meanwhile(struct weir_loop *loop, int fd, short poll_events, int64_t wait_ms)
{
    struct sources *sources = &loop->meanwhile;
    size_t polled = sources->count;
    if (loop->stopping)
        return poll_alone(&loop->turns, fd, poll_events, wait_ms);
    bool is_ready = poll_meanwhile(&loop->turns, sources, fd, poll_events, wait_ms);
    sources->is_walked = true;
    run_ready(loop, sources, polled);
    sources->is_walked = false;
    if (sources->has_dead)
        sweep_dead_sources(sources);
    return is_ready;
}

bool weir_loop_wait(struct weir_loop *loop, int fd, short poll_events, int64_t wait_ms)
{
    int64_t end_ms = weir_now_ms() + wait_ms, left_ms = wait_ms;
    bool is_ready;
    weir_require(!loop->meanwhile.is_walked);
    do {
        is_ready = step_meanwhile(loop, fd, poll_events, left_ms);
        left_ms = wait_ms < 0 ? wait_ms : end_ms - weir_now_ms();
    } while (!is_ready && (wait_ms < 0 || left_ms > 0));
    return is_ready;
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
