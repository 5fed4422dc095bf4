/* A thread, a descriptor that becomes readable when it is over, and three numbers that both sides may look at. */
#include "core/loop/work.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

enum { THREAD_AGAIN_MS = 1000, NOT_BEGUN = -1 };

struct weir_work {
    struct weir_loop *loop;
    weir_work_fn *run;
    weir_work_done_fn *done;
    void *owner;
    struct weir_work_queue *queue; /* NULL: it takes no turn */
    TAILQ_ENTRY(weir_work) link;   /* of the queue */
    pthread_t thread;
    int over_fd; /* NOT_BEGUN: it waits for its turn */
    atomic_bool cancelled;
    atomic_size_t parts_done;
    atomic_size_t parts_total;
};

struct weir_work_queue {
    struct weir_loop *loop;
    size_t at_once, running;
    TAILQ_HEAD(, weir_work) works; /* those that run before those that wait */
    uint64_t timer;                /* until a thread is tried again; 0: none is missed */
};

static void advance(struct weir_work_queue *queue);

static void *live(void *owner)
{
    struct weir_work *work = owner;
    work->run(work, work->owner);
    weir_require(eventfd_write(work->over_fd, 1) == 0);
    return NULL;
}

static void leave(struct weir_work *work)
{
    struct weir_work_queue *queue = work->queue;
    if (queue == NULL)
        return;
    TAILQ_REMOVE(&queue->works, work, link);
    queue->running -= work->over_fd != NOT_BEGUN;
    advance(queue);
}

static void end(struct weir_work *work)
{
    if (work->over_fd != NOT_BEGUN) {
        weir_require(pthread_join(work->thread, NULL) == 0);
        weir_loop_unwatch_fd(work->loop, work->over_fd);
        close(work->over_fd);
    }
    leave(work);
    free(work);
}

static void on_over(void *owner)
{
    struct weir_work *work = owner;
    weir_work_done_fn *done = work->done;
    void *waiting = work->owner;
    end(work);
    done(waiting);
}

static struct weir_work *new_work(struct weir_loop *loop, weir_work_fn *run,
                                  weir_work_done_fn *done, void *owner)
{
    struct weir_work *work = weir_calloc(1, sizeof(*work));
    work->loop = loop;
    work->run = run;
    work->done = done;
    work->owner = owner;
    work->over_fd = NOT_BEGUN;
    return work;
}

static enum weir_status launch(struct weir_work *work, struct weir_error *err)
{
    int over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (over_fd < 0)
        return weir_fail(err, WEIR_LIMIT, "eventfd: %s", strerror(errno));
    work->over_fd = over_fd;
    int failed = weir_thread_start(&work->thread, live, work);
    if (failed) {
        close(over_fd);
        work->over_fd = NOT_BEGUN;
        return weir_fail(err, WEIR_LIMIT, "cannot start a thread: %s", strerror(failed));
    }
    weir_loop_watch_fd(work->loop, over_fd, POLLIN, on_over, work);
    return WEIR_OK;
}

enum weir_status weir_work_start(struct weir_loop *loop, weir_work_fn *run, weir_work_done_fn *done,
                                 void *owner, struct weir_work **ret_work, struct weir_error *err)
{
    struct weir_work *work = new_work(loop, run, done, owner);
    enum weir_status status = launch(work, err);
    if (status == WEIR_OK)
        *ret_work = work;
    else
        free(work);
    return status;
}

/* ---- taking turns ---- */

struct weir_work_queue *weir_work_queue_new(struct weir_loop *loop, size_t at_once)
{
    struct weir_work_queue *queue = weir_calloc(1, sizeof(*queue));
    queue->loop = loop;
    queue->at_once = at_once;
    TAILQ_INIT(&queue->works);
    return queue;
}

bool weir_work_queue_is_idle(const struct weir_work_queue *queue)
{
    return TAILQ_EMPTY(&queue->works);
}

static void try_again(void *owner)
{
    struct weir_work_queue *queue = owner;
    queue->timer = 0;
    advance(queue);
}

static void advance(struct weir_work_queue *queue)
{
    struct weir_error err;
    struct weir_work *work = TAILQ_FIRST(&queue->works);
    for (; work != NULL && queue->running < queue->at_once; work = TAILQ_NEXT(work, link)) {
        if (work->over_fd != NOT_BEGUN)
            continue;
        if (launch(work, &err) != WEIR_OK) {
            weir_log(WEIR_LOG_WARN, "work waits for a thread", "because=\"%s\"", err.text);
            weir_loop_cancel(queue->loop, queue->timer);
            queue->timer = weir_loop_timer(queue->loop, THREAD_AGAIN_MS, 0, try_again, queue);
            return;
        }
        queue->running++;
    }
}

struct weir_work *weir_work_enqueue(struct weir_work_queue *queue, weir_work_fn *run,
                                    weir_work_done_fn *done, void *owner)
{
    struct weir_work *work = new_work(queue->loop, run, done, owner);
    work->queue = queue;
    TAILQ_INSERT_TAIL(&queue->works, work, link);
    advance(queue);
    return work;
}

void weir_work_queue_free(struct weir_work_queue *queue)
{
    if (queue == NULL)
        return;
    while (!TAILQ_EMPTY(&queue->works))
        on_over(TAILQ_FIRST(&queue->works));
    weir_loop_cancel(queue->loop, queue->timer);
    free(queue);
}

/* ---- giving up ---- */

void weir_work_hear_meanwhile(struct weir_work *work)
{
    weir_loop_watch_fd_meanwhile(work->loop, work->over_fd, POLLIN, on_over, work);
}

void weir_work_cancel(struct weir_work *work)
{
    atomic_store_explicit(&work->cancelled, true, memory_order_relaxed);
}

void weir_work_stop(struct weir_work *work)
{
    if (work == NULL)
        return;
    weir_work_cancel(work);
    end(work);
}

void weir_work_abandon(struct weir_work *work, weir_work_done_fn *gone)
{
    weir_work_cancel(work);
    work->done = gone;
    if (work->over_fd == NOT_BEGUN)
        on_over(work);
}

struct weir_work_progress weir_work_progress(const struct weir_work *work)
{
    return (struct weir_work_progress){
        .done = atomic_load_explicit(&work->parts_done, memory_order_relaxed),
        .total = atomic_load_explicit(&work->parts_total, memory_order_relaxed),
    };
}

bool weir_work_goes_on(struct weir_work *work, size_t done, size_t total)
{
    if (work == NULL)
        return true;
    atomic_store_explicit(&work->parts_done, done, memory_order_relaxed);
    atomic_store_explicit(&work->parts_total, total, memory_order_relaxed);
    return !atomic_load_explicit(&work->cancelled, memory_order_relaxed);
}
