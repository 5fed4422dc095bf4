/* The store between its rooms: see store.h. */
#include "storage/store/store.h"

#include "core/base/memory.h"
#include "core/db/table_lock.h"

#include <stdlib.h>

enum { RETRY_MS = 1000 };

enum weir_status storage_ready(struct store *store, struct weir_error *err)
{
    if (!store->is_stale)
        return WEIR_OK;
    weir_require(!weir_db_is_waiting(store->db));
    return store->load(store->owner, err);
}

enum weir_status storage_readable(struct store *store, struct weir_error *err)
{
    enum weir_status status = weir_db_is_waiting(store->db) ? WEIR_OK : storage_ready(store, err);

    return status == WEIR_UNAVAILABLE ? WEIR_OK : status;
}

/* Without the database, work finds that out itself, and says so. */
bool storage_tables_share(struct store *store)
{
    struct weir_error err;
    bool is_taken = false;

    return weir_db_tables_share(store->db, &is_taken, &err) != WEIR_OK || is_taken;
}

void storage_tables_unshare(struct store *store)
{
    weir_db_tables_unshare(store->db);
}

static void on_pump(void *owner)
{
    struct store *store = owner;

    store->pump_timer = 0;
    if (!storage_tables_share(store)) {
        store->pump_timer = weir_loop_timer(store->loop, STORAGE_LOCK_RETRY_MS, 0, on_pump, store);
        return;
    }
    store->work(store->owner);
    storage_tables_unshare(store);
}

void storage_pump(struct store *store)
{
    if (store->pump_timer == 0)
        store->pump_timer = weir_loop_timer(store->loop, 0, 0, on_pump, store);
}

void storage_doubt(struct store *store)
{
    store->is_stale = true;
    storage_pump(store);
}

static void on_retry(void *owner)
{
    struct store *store = owner;

    store->retry_timer = 0;
    storage_pump(store);
}

void storage_retry_later(struct store *store)
{
    store->is_stale = true;
    if (store->retry_timer == 0)
        store->retry_timer = weir_loop_timer(store->loop, RETRY_MS, 0, on_retry, store);
}

void storage_store_fini(struct store *store)
{
    weir_loop_cancel(store->loop, store->pump_timer);
    weir_loop_cancel(store->loop, store->retry_timer);
    storage_catalog_free(store->catalog);
    storage_erased_names_fini(&store->erased);
    weir_db_close(store->db);
    free(store->data_dir);
}
