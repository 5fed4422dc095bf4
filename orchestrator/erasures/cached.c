/* Rows that workers keep of samples in DATA_DIR/cache (core/wire/cache_segment.h). Once an erasure is in force, no
 * worker that holds a use lease writes such rows of its samples: from then on they are overwritten here, once when
 * everything is purged and again before the receipt, in case that a worker slept through it. */
#include "orchestrator/erasures/cached.h"

#include "core/wire/cache_segment.h"
#include "orchestrator/models/lineage.h"

static bool is_erased(const void *ids, uint64_t id)
{
    return orchestrator_id_blocks_has(ids, id);
}

enum weir_status orchestrator_cached_erase(struct context *context, const struct id_blocks *ids,
                                           int64_t *ret_rows, struct weir_error *err)
{
    struct weir_cache_erased sum = {0};
    enum weir_status status = weir_cache_erase(context->data_dir, false, is_erased, ids, &sum, err);
    *ret_rows = (int64_t)sum.rows;
    return status;
}

enum weir_status orchestrator_cached_count(struct context *context, const struct id_blocks *ids,
                                           int64_t *ret_rows, struct weir_error *err)
{
    struct weir_cache_erased sum = {0};
    enum weir_status status = weir_cache_erase(context->data_dir, true, is_erased, ids, &sum, err);
    *ret_rows = (int64_t)sum.left;
    return status;
}
