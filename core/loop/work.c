/* A thread, a descriptor that becomes readable when it is over, and three numbers that both sides may look at. */
#include "core/loop/work.h"

#include "core/base/memory.h"
#include "core/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct weir_work {
    struct weir_loop *loop;
    weir_work_fn *run;
    weir_work_done_fn *done;
    void *owner;
    pthread_t thread;
    int over_fd;
    atomic_bool cancelled;
    atomic_size_t parts_done;
    atomic_size_t parts_total;
};

static void *live(void *owner)
{
    struct weir_work *work = owner;
    work->run(work, work->owner);
    weir_require(eventfd_write(work->over_fd, 1) == 0);
    return NULL;
}

static void end(struct weir_work *work)
{
    weir_require(pthread_join(work->thread, NULL) == 0);
    weir_loop_unwatch_fd(work->loop, work->over_fd);
    close(work->over_fd);
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

enum weir_status weir_work_start(struct weir_loop *loop, weir_work_fn *run, weir_work_done_fn *done,
                                 void *owner, struct weir_work **ret_work, struct weir_error *err)
{
    int over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (over_fd < 0)
        return weir_fail(err, WEIR_LIMIT, "eventfd: %s", strerror(errno));
    struct weir_work *work = weir_calloc(1, sizeof(*work));
    work->loop = loop;
    work->run = run;
    work->done = done;
    work->owner = owner;
    work->over_fd = over_fd;
    int failed = weir_thread_start(&work->thread, live, work);
    if (failed) {
        close(over_fd);
        free(work);
        return weir_fail(err, WEIR_LIMIT, "cannot start a thread: %s", strerror(failed));
    }
    weir_loop_watch_fd(loop, over_fd, POLLIN, on_over, work);
    *ret_work = work;
    return WEIR_OK;
}

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

struct weir_work_progress weir_work_progress(const struct weir_work *work)
{
    return (struct weir_work_progress){
        .done = atomic_load_explicit(&work->parts_done, memory_order_relaxed),
        .total = atomic_load_explicit(&work->parts_total, memory_order_relaxed),
    };
}

bool weir_work_goes_on(struct weir_work *work, size_t done, size_t total)
{
    atomic_store_explicit(&work->parts_done, done, memory_order_relaxed);
    atomic_store_explicit(&work->parts_total, total, memory_order_relaxed);
    return !atomic_load_explicit(&work->cancelled, memory_order_relaxed);
}
