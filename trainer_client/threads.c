/* Threads that share work: see threads.h. A piece of work is a round: its number goes up, and each does its part. */
#include "trainer_client/threads.h"

#include "core/base/memory.h"
#include "core/base/thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct helper {
    struct trainer_threads *threads;
    pthread_t thread;
    uint32_t part;
};

struct trainer_threads {
    uint32_t count, started; /* helpers that run: count - 1 but after a failure */
    struct helper *helpers;  /* of parts 1 … count - 1 */
    pthread_mutex_t mutex;
    pthread_cond_t begun, done;
    /* Under `mutex`. */
    uint64_t round;
    uint32_t left; /* helpers that are at work in this round */
    bool is_ending;
    void (*part)(void *owner, uint32_t part);
    void *owner;
};

static void *help(void *given)
{
    struct helper *helper = given;
    struct trainer_threads *threads = helper->threads;
    uint64_t round = 0;
    pthread_mutex_lock(&threads->mutex);
    for (;;) {
        while (threads->round == round && !threads->is_ending)
            pthread_cond_wait(&threads->begun, &threads->mutex);
        if (threads->is_ending)
            break;
        round = threads->round;
        pthread_mutex_unlock(&threads->mutex);
        threads->part(threads->owner, helper->part);
        pthread_mutex_lock(&threads->mutex);
        if (--threads->left == 0)
            pthread_cond_signal(&threads->done);
    }
    pthread_mutex_unlock(&threads->mutex);
    return NULL;
}

static int start(struct trainer_threads *threads)
{
    int failed = 0;
    for (uint32_t part = 1; part < threads->count && failed == 0; part++) {
        struct helper *helper = &threads->helpers[part - 1];
        *helper = (struct helper){.threads = threads, .part = part};
        failed = weir_thread_start(&helper->thread, help, helper);
        threads->started += failed == 0;
    }
    return failed;
}

enum weir_status trainer_threads_new(uint32_t count, struct trainer_threads **ret_threads,
                                     struct weir_error *err)
{
    WEIR_AUTO(trainer_threads) threads = weir_calloc(1, sizeof(*threads));
    threads->count = count;
    threads->helpers = weir_calloc(count, sizeof(*threads->helpers));
    pthread_mutex_init(&threads->mutex, NULL);
    pthread_cond_init(&threads->begun, NULL);
    pthread_cond_init(&threads->done, NULL);
    int failed = start(threads);
    if (failed != 0)
        return weir_fail(err, WEIR_LIMIT, "training.threads: cannot start thread %u of %u: %s",
                         threads->started + 2, count, strerror(failed));
    *ret_threads = WEIR_TAKE(threads);
    return WEIR_OK;
}

void trainer_threads_free(struct trainer_threads *threads)
{
    if (threads == NULL)
        return;
    pthread_mutex_lock(&threads->mutex);
    threads->is_ending = true;
    pthread_cond_broadcast(&threads->begun);
    pthread_mutex_unlock(&threads->mutex);
    for (uint32_t i = 0; i < threads->started; i++)
        pthread_join(threads->helpers[i].thread, NULL);
    pthread_cond_destroy(&threads->begun);
    pthread_cond_destroy(&threads->done);
    pthread_mutex_destroy(&threads->mutex);
    free(threads->helpers);
    free(threads);
}

void trainer_threads_run(struct trainer_threads *threads, void (*part)(void *owner, uint32_t part),
                         void *owner)
{
    pthread_mutex_lock(&threads->mutex);
    threads->part = part;
    threads->owner = owner;
    threads->left = threads->count - 1;
    threads->round++;
    pthread_cond_broadcast(&threads->begun);
    pthread_mutex_unlock(&threads->mutex);
    part(owner, 0);
    pthread_mutex_lock(&threads->mutex);
    while (threads->left > 0)
        pthread_cond_wait(&threads->done, &threads->mutex);
    pthread_mutex_unlock(&threads->mutex);
}
