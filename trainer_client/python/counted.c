/* Counting holders; see the header. */
#include "trainer_client/python/counted.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <unistd.h>

static void hold(atomic_size_t *holders)
{
    atomic_fetch_add_explicit(holders, 1, memory_order_relaxed);
}

static bool drop(atomic_size_t *holders)
{
    return atomic_fetch_sub_explicit(holders, 1, memory_order_acq_rel) == 1;
}

/* ---- task ---- */

struct counted_task *trainer_python_task_new(struct weir_client_task *task)
{
    struct counted_task *counted = weir_calloc(1, sizeof(*counted));

    atomic_init(&counted->holders, 1);
    counted->task = task;
    return counted;
}

struct counted_task *trainer_python_task_hold(struct counted_task *counted)
{
    hold(&counted->holders);
    return counted;
}

void trainer_python_task_drop(struct counted_task *counted)
{
    if (!drop(&counted->holders))
        return;
    weir_client_task_free(counted->task);
    free(counted);
}

/* ---- client ---- */

struct counted_client *trainer_python_client_new(struct counted_task *task)
{
    struct counted_client *counted = weir_calloc(1, sizeof(*counted));

    atomic_init(&counted->holders, 1);
    counted->task = trainer_python_task_hold(task);
    counted->owner = getpid();
    return counted;
}

struct counted_client *trainer_python_client_hold(struct counted_client *counted)
{
    hold(&counted->holders);
    return counted;
}

bool trainer_python_client_is_ours(const struct counted_client *counted)
{
    return counted->owner == getpid();
}

void trainer_python_client_drop(struct counted_client *counted)
{
    if (counted == NULL || !drop(&counted->holders))
        return;
    if (!trainer_python_client_is_ours(counted))
        return; /* its mutex may be locked by a thread that this process does not have */
    weir_client_close(counted->client);
    trainer_python_task_drop(counted->task);
    free(counted);
}

/* ---- batch ---- */

struct counted_batch *trainer_python_batch_new(struct counted_client *client,
                                               struct weir_batch *batch)
{
    struct counted_batch *counted = weir_calloc(1, sizeof(*counted));

    atomic_init(&counted->holders, 1);
    counted->batch = batch;
    counted->client = trainer_python_client_hold(client);
    counted->offsets = weir_calloc(batch->tensor_count + 1, sizeof(*counted->offsets));
    return counted;
}

struct counted_batch *trainer_python_batch_hold(struct counted_batch *counted)
{
    hold(&counted->holders);
    return counted;
}

bool trainer_python_batch_drop(struct counted_batch *counted)
{
    if (!drop(&counted->holders))
        return false;
    if (!trainer_python_client_is_ours(counted->client))
        return true;
    for (size_t i = 0; i < counted->batch->tensor_count; i++)
        free(counted->offsets[i]);
    free(counted->offsets);
    weir_batch_release(counted->batch);
    trainer_python_client_drop(counted->client);
    free(counted);
    return true;
}

const int64_t *trainer_python_batch_offsets(struct counted_batch *counted, size_t tensor)
{
    size_t count = counted->batch->samples + 1;
    const uint32_t *narrow = counted->batch->tensors[tensor].offsets;

    if (counted->offsets[tensor] != NULL)
        return counted->offsets[tensor];
    int64_t *wide = weir_calloc(count, sizeof(*wide));
    for (size_t i = 0; i < count; i++)
        wide[i] = narrow[i];
    counted->offsets[tensor] = wide;
    return wide;
}
