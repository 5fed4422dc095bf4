/* Runs and batches as Python holds them: counted, because the views of a batch may outlive the batch, and batches their
 * session. No Python here: the last holder may be another library, on any thread, without the interpreter's lock. */
#ifndef WEIR_TRAINER_PYTHON_COUNTED_H
#define WEIR_TRAINER_PYTHON_COUNTED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <weir/client.h>

struct counted_task {
    atomic_size_t holders;
    struct weir_client_task *task;
};

/* An open run. A process that was forked from the one that opened it never touches it: its threads are not there. */
struct counted_client {
    atomic_size_t holders;
    struct weir_client *client; /* NULL: not open yet */
    struct counted_task *task;
    pid_t owner;
};

/* A batch in hand. Its holders are the Python object until it is released, and each view of its memory. */
struct counted_batch {
    atomic_size_t holders;
    struct weir_batch *batch;
    struct counted_client *client;
    int64_t **offsets; /* of each tensor, widened when first looked at; NULL entries: not yet */
};

/* Takes `task`. */
struct counted_task *trainer_python_task_new(struct weir_client_task *task);
struct counted_task *trainer_python_task_hold(struct counted_task *counted);
void trainer_python_task_drop(struct counted_task *counted);

struct counted_client *trainer_python_client_new(struct counted_task *task);
struct counted_client *trainer_python_client_hold(struct counted_client *counted);
/* Closes the run with its last holder. NULL is fine. */
void trainer_python_client_drop(struct counted_client *counted);
bool trainer_python_client_is_ours(const struct counted_client *counted);

/* Takes `batch`. */
struct counted_batch *trainer_python_batch_new(struct counted_client *client,
                                               struct weir_batch *batch);
struct counted_batch *trainer_python_batch_hold(struct counted_batch *counted);
/* True when this was the last holder: the memory is given back. */
bool trainer_python_batch_drop(struct counted_batch *counted);
/* Returns the offsets of a ragged tensor, samples + 1 of them, as the 64 bits that frameworks index with. */
const int64_t *trainer_python_batch_offsets(struct counted_batch *counted, size_t tensor);

#endif
