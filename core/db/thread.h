/* A thread with a connection of its own: statements that the loop does not wait for. Jobs run one after the other, in
 * the order they came, so what a job reads is what those before it have written. */
#ifndef WEIR_DB_THREAD_H
#define WEIR_DB_THREAD_H

#include "core/db/db.h"
#include "core/loop/loop.h"

enum { WEIR_DB_JOBS_MAX = 4096 /* waiting */ };

struct weir_db_thread;

struct weir_db_job {
    /* On the thread: it touches nothing but `owner`, which the loop leaves alone until then. */
    enum weir_status (*run)(void *owner, struct weir_db *db, struct weir_error *err);
    /* On the loop. `err` is NULL when the job went well. Not called once the thread is freed. */
    void (*done)(void *owner, const struct weir_error *err);
    /* On the loop, after `done` or in its place. */
    void (*drop)(void *owner);
    void *owner;
};

/* Takes the connection, on success alone. LIMIT when there is no thread or descriptor to be had. */
enum weir_status weir_db_thread_new(struct weir_loop *loop, struct weir_db *db,
                                    struct weir_db_thread **ret_thread,
                                    struct weir_error *err) WEIR_MUST_USE;
/* Takes the job; copied. When too many wait it is over before this returns, UNAVAILABLE. */
void weir_db_thread_run(struct weir_db_thread *thread, const struct weir_db_job *job);
/* Runs what waits, and waits for it: as long as Postgres makes it wait. NULL is fine. */
void weir_db_thread_free(struct weir_db_thread *thread);
WEIR_DEFINE_AUTO(weir_db_thread, weir_db_thread_free)

#endif
