/* The end of a step in a test's loop. */
#ifndef WEIR_TESTS_SUPPORT_CONSUME_H
#define WEIR_TESTS_SUPPORT_CONSUME_H

#include <stdlib.h>
#include <weir/client.h>

static inline void consume_batch(struct weir_client *client, struct weir_batch *batch)
{
    if (weir_client_consumed(client, batch->number, NULL) != WEIR_CLIENT_OK)
        abort();
    weir_batch_release(batch);
}

#endif
