/* One request per block, several in flight; answers come in the order asked. */
#include "benchmarks/storage/listing.h"

#include "core/wire/sample.h"

#include <string.h>

enum { IN_FLIGHT = 4, ASK_MS = 60000 };

struct listing {
    struct weir_rpc_peer *storage;
    uint64_t dataset;
    uint32_t block; /* to ask for next */
    struct table_columns *columns;
    size_t found;
    int open;
    struct weir_error err;
};

static void on_columns(void *owner, const struct weir_reply *reply, const struct weir_error *err);

static void ask(struct listing *listing)
{
    const struct msg_columns_read message = {
        .first = weir_sample_id((uint32_t)listing->dataset, listing->block++, 0),
        .count = WEIR_BLOCK_ROWS};
    listing->open++;
    weir_rpc_call(listing->storage, MSG_columns_read, &message, ASK_MS, on_columns, listing);
}

static void on_columns(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct listing *listing = owner;
    const struct msg_columns_is *answer = reply ? reply->message : NULL;
    struct table_columns *to = listing->columns;
    listing->open--;
    if (!answer || answer->ids.count > to->count - listing->found) {
        weir_fail(&listing->err, WEIR_INTERNAL, "columns_read: %s",
                  err ? err->text : "more samples than there are");
        return;
    }
    if (answer->ids.count == 0) /* a block that has no samples: they end before it */
        return;
    memcpy(to->ids + listing->found, answer->ids.at, answer->ids.count * sizeof *to->ids);
    memcpy(to->times_us + listing->found, answer->times.at,
           answer->ids.count * sizeof *to->times_us);
    memcpy(to->labels + listing->found, answer->labels.at, answer->ids.count * sizeof *to->labels);
    listing->found += answer->ids.count;
    if (listing->found < to->count)
        ask(listing);
}

enum weir_status listing_read(struct rig *rig, uint64_t dataset, struct table_columns *columns,
                              struct weir_error *err)
{
    struct listing listing = {
        .storage = rig_peer(rig, RIG_STORAGE), .dataset = dataset, .columns = columns};
    for (int i = 0; i < IN_FLIGHT; i++)
        ask(&listing);
    while (listing.open > 0)
        rig_step(rig);
    if (listing.err.status != WEIR_OK) {
        *err = listing.err;
        return err->status;
    }
    if (listing.found != columns->count)
        return weir_fail(err, WEIR_INTERNAL, "listed %zu samples, expected %zu", listing.found,
                         columns->count);
    return WEIR_OK;
}
