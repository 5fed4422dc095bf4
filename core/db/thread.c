/* Two lists under one lock: jobs that are to be run, and those that were. */
#include "core/db/thread.h"

#include "core/base/memory.h"
#include "core/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

struct queued {
    STAILQ_ENTRY(queued) link;
    struct weir_db_job job;
    enum weir_status status;
    struct weir_error err;
};

STAILQ_HEAD(queue, queued);

struct weir_db_thread {
    struct weir_loop *loop;
    struct weir_db *db; /* the thread's */
    pthread_t thread;
    int over_fd;     /* readable: jobs were run */
    size_t in_hands; /* jobs that were taken and are not over; the loop's */

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t wakes;
    struct queue waiting, over;
    bool is_ending;
};

/* ---- the thread ---- */

/* Returns the next job; NULL: there will be none. */
static struct queued *next(struct weir_db_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    while (STAILQ_EMPTY(&thread->waiting) && !thread->is_ending)
        pthread_cond_wait(&thread->wakes, &thread->lock);
    struct queued *job = STAILQ_FIRST(&thread->waiting);
    if (job != NULL)
        STAILQ_REMOVE_HEAD(&thread->waiting, link);
    pthread_mutex_unlock(&thread->lock);
    return job;
}

static void hand_back(struct weir_db_thread *thread, struct queued *job)
{
    pthread_mutex_lock(&thread->lock);
    STAILQ_INSERT_TAIL(&thread->over, job, link);
    pthread_mutex_unlock(&thread->lock);
    weir_require(eventfd_write(thread->over_fd, 1) == 0);
}

static void *live(void *owner)
{
    struct weir_db_thread *thread = owner;
    struct queued *job;
    while ((job = next(thread)) != NULL) {
        job->status = job->job.run(job->job.owner, thread->db, &job->err);
        hand_back(thread, job);
    }
    return NULL;
}

/* ---- the loop ---- */

static struct queued *take_over(struct weir_db_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    struct queued *job = STAILQ_FIRST(&thread->over);
    if (job != NULL)
        STAILQ_REMOVE_HEAD(&thread->over, link);
    pthread_mutex_unlock(&thread->lock);
    return job;
}

static void drop(struct queued *job)
{
    job->job.drop(job->job.owner);
    free(job);
}

static void on_over(void *owner)
{
    struct weir_db_thread *thread = owner;
    struct queued *job;
    eventfd_t count;
    (void)eventfd_read(thread->over_fd, &count);
    while ((job = take_over(thread)) != NULL) {
        thread->in_hands--;
        job->job.done(job->job.owner, job->status == WEIR_OK ? NULL : &job->err);
        drop(job);
    }
}

static void refuse(const struct weir_db_job *job)
{
    struct weir_error err;
    weir_ignore(weir_fail(&err, WEIR_UNAVAILABLE, "Postgres is slow: %d changes wait for it",
                          WEIR_DB_JOBS_MAX));
    job->done(job->owner, &err);
    job->drop(job->owner);
}

void weir_db_thread_run(struct weir_db_thread *thread, const struct weir_db_job *job)
{
    if (thread->in_hands >= WEIR_DB_JOBS_MAX) {
        refuse(job);
        return;
    }
    struct queued *queued = weir_calloc(1, sizeof(*queued));
    queued->job = *job;
    thread->in_hands++;
    pthread_mutex_lock(&thread->lock);
    STAILQ_INSERT_TAIL(&thread->waiting, queued, link);
    pthread_cond_signal(&thread->wakes);
    pthread_mutex_unlock(&thread->lock);
}

static void fini(struct weir_db_thread *thread)
{
    pthread_cond_destroy(&thread->wakes);
    pthread_mutex_destroy(&thread->lock);
    close(thread->over_fd);
    free(thread);
}

enum weir_status weir_db_thread_new(struct weir_loop *loop, struct weir_db *db,
                                    struct weir_db_thread **ret_thread, struct weir_error *err)
{
    int over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (over_fd < 0)
        return weir_fail(err, WEIR_LIMIT, "eventfd: %s", strerror(errno));
    struct weir_db_thread *thread = weir_calloc(1, sizeof(*thread));
    thread->loop = loop;
    thread->db = db;
    thread->over_fd = over_fd;
    STAILQ_INIT(&thread->waiting);
    STAILQ_INIT(&thread->over);
    weir_require(pthread_mutex_init(&thread->lock, NULL) == 0);
    weir_require(pthread_cond_init(&thread->wakes, NULL) == 0);
    int failed = weir_thread_start(&thread->thread, live, thread);
    if (failed) {
        fini(thread);
        return weir_fail(err, WEIR_LIMIT, "cannot start a thread: %s", strerror(failed));
    }
    weir_loop_watch_fd(loop, over_fd, POLLIN, on_over, thread);
    *ret_thread = thread;
    return WEIR_OK;
}

void weir_db_thread_free(struct weir_db_thread *thread)
{
    struct queued *job;
    if (thread == NULL)
        return;
    pthread_mutex_lock(&thread->lock);
    thread->is_ending = true;
    pthread_cond_signal(&thread->wakes);
    pthread_mutex_unlock(&thread->lock);
    weir_require(pthread_join(thread->thread, NULL) == 0);
    while ((job = take_over(thread)) != NULL)
        drop(job);
    weir_loop_unwatch_fd(thread->loop, thread->over_fd);
    weir_db_close(thread->db);
    fini(thread);
}
