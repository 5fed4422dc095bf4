/* Calls of the client library that wait long and cannot be cut into slices, on a thread of their own: the caller may
 * leave one behind, and it ends by itself. No Python here. */
#ifndef WEIR_TRAINER_PYTHON_ERRAND_H
#define WEIR_TRAINER_PYTHON_ERRAND_H

#include "trainer_client/python/counted.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* One call. Texts and bytes are the errand's own. */
struct errand {
    atomic_size_t holders; /* the caller, and the thread while it runs */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_done; /* under `mutex`; what follows belongs to the thread until then */
    enum weir_client_status (*call)(struct errand *errand);
    struct weir_client_options options;
    char *socket_dir, *state;
    struct counted_client *client; /* being opened, or finished */
    struct counted_task *finished; /* predecessor of the next one */
    struct weir_client_task *task; /* NULL: not answered, or taken by the caller */
    char *model;
    double loss;
    enum weir_client_status status;
    struct weir_client_error error;
};

/* weir_client_task() of these options. */
struct errand *trainer_python_errand_task(const struct weir_client_options *options);
/* weir_client_next_task() after `finished`, waiting for ever. */
struct errand *trainer_python_errand_next_task(const struct weir_client_options *options,
                                               struct counted_task *finished);
/* weir_client_open() of these options and the task of `client`, into it. */
struct errand *trainer_python_errand_open(const struct weir_client_options *options,
                                          struct counted_client *client);
/* weir_client_finish(). */
struct errand *trainer_python_errand_finish(struct counted_client *client, const char *model,
                                            double loss);
/* False when no thread can be had: errno says why. */
bool trainer_python_errand_start(struct errand *errand);
/* Waits at most so long; true when the call has returned. */
bool trainer_python_errand_wait(struct errand *errand, int64_t timeout_ms);
void trainer_python_errand_drop(struct errand *errand);

#endif
