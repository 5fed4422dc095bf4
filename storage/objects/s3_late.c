/* One table after the other: see s3_late.h. */
#include "storage/objects/s3_late.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/db/errand.h"

#include <stdlib.h>

enum { AGAIN_MS = 200 };

static const char *const REWRITE[] = {"VACUUM (FULL) storage.owed", "VACUUM (FULL) storage.object"};

struct s3_late {
    struct store *store;
    struct weir_db_errand *errand; /* NULL: nothing is being rewritten */
    size_t table;
    bool is_retried;
    uint64_t timer;
};

static void rewrite_next(void *owner);

static void end(struct s3_late *late)
{
    weir_db_errand_free(late->errand);
    late->errand = NULL;
    if (late->is_retried)
        storage_s3_late_rewrite(late);
}

static void give_up(struct s3_late *late, const struct weir_error *err)
{
    weir_log(WEIR_LOG_WARN, "old rows stay until the next erasure is sealed", "because=\"%s\"",
             err->text);
    end(late);
}

static void on_rewritten(void *owner, const struct weir_rows *rows, const struct weir_error *err)
{
    struct s3_late *late = owner;
    bool is_locked = err != NULL && err->status == WEIR_UNAVAILABLE;

    (void)rows;
    if (err != NULL && !is_locked) {
        give_up(late, err);
        return;
    }
    late->table += !is_locked;
    late->timer =
        weir_loop_timer(late->store->loop, is_locked ? AGAIN_MS : 0, 0, rewrite_next, late);
}

static void rewrite_next(void *owner)
{
    struct s3_late *late = owner;

    late->timer = 0;
    if (late->table == WEIR_COUNT(REWRITE))
        end(late);
    else
        weir_db_errand_run(late->errand, REWRITE[late->table], on_rewritten, late);
}

void storage_s3_late_rewrite(struct s3_late *late)
{
    struct weir_error err;

    late->is_retried = late->errand != NULL;
    if (late->is_retried)
        return;
    late->table = 0;
    if (weir_db_errand_new(late->store->db, late->store->loop, &late->errand, &err) == WEIR_OK)
        late->timer = weir_loop_timer(late->store->loop, 0, 0, rewrite_next, late);
    else
        give_up(late, &err);
}

struct s3_late *storage_s3_late_new(struct store *store)
{
    struct s3_late *late = weir_calloc(1, sizeof(*late));

    late->store = store;
    return late;
}

void storage_s3_late_free(struct s3_late *late)
{
    if (late == NULL)
        return;
    weir_loop_cancel(late->store->loop, late->timer);
    weir_db_errand_free(late->errand);
    free(late);
}
