/* Page after page of `list`, unpacked into the caller's arrays. */
#include "benchmarks/storage/listing.h"

#include "tests/support/list_page.h"

enum { ASK_MS = 60000 };

struct listing {
    struct weir_rpc_peer *storage;
    struct msg_list asked;
    struct table_columns *columns;
    size_t found;
    bool is_done;
    struct weir_error err;
};

static void on_page(void *owner, const struct weir_reply *reply, const struct weir_error *err);

static void ask(struct listing *listing)
{
    weir_rpc_call(listing->storage, MSG_list, &listing->asked, ASK_MS, on_page, listing);
}

static void take(struct listing *listing, const struct msg_list_is *page,
                 const struct weir_frames *frames)
{
    struct table_columns *to = listing->columns;
    int64_t *const columns[LIST_COLUMNS] = {(int64_t *)to->ids + listing->found,
                                            to->times_us + listing->found,
                                            to->labels + listing->found};
    size_t rows = list_page_rows(page);
    if (rows > to->count - listing->found) {
        weir_fail(&listing->err, WEIR_INTERNAL, "list: more samples than there are");
        return;
    }
    if (list_page_unpack(page, frames, columns, &listing->err) == WEIR_OK)
        listing->found += rows;
}

static void on_page(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct listing *listing = owner;
    const struct msg_list_is *page = reply != NULL ? reply->message : NULL;
    if (page != NULL)
        take(listing, page, reply->frames);
    else
        weir_fail(&listing->err, WEIR_INTERNAL, "list: %s", err->text);
    listing->is_done = page == NULL || page->end || listing->err.status != WEIR_OK;
    if (listing->is_done)
        return;
    listing->asked.after_id = page->cursor;
    ask(listing);
}

enum weir_status listing_read(struct rig *rig, uint64_t dataset, struct table_columns *columns,
                              struct weir_error *err)
{
    struct listing listing = {
        .storage = rig_peer(rig, RIG_STORAGE),
        .asked = {.dataset = dataset, .from_time = INT64_MIN, .to_time = INT64_MAX},
        .columns = columns,
    };
    ask(&listing);
    while (!listing.is_done)
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
