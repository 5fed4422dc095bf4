/* Looks at one sample of each dataset, as the ids of a set ascend. */
#include "selector/sets/tenancy.h"

#include "core/base/bisect.h"
#include "core/wire/sample.h"
#include "selector/sql/queries.h"

#include <inttypes.h>

static bool is_listed(const struct weir_rows *rows, uint64_t dataset)
{
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        if ((uint64_t)weir_rows_i64(rows, i, "dataset") == dataset)
            return true;
    return false;
}

/* Returns the first place after `at` with a sample of another dataset. */
static size_t end_of_dataset(const struct weir_sample_set *set, size_t at)
{
    uint64_t dataset = weir_sample_dataset(set->ids[at]);
    size_t low = at + 1, high = set->count;
    WEIR_BISECT(low, high, i, weir_sample_dataset(set->ids[i]) <= dataset);
    return low;
}

enum weir_status selector_tenancy_check(struct weir_db *db, const struct weir_sender *sender,
                                        const struct weir_sample_set *set, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    if (sender->tenant[0] == '\0')
        return WEIR_OK;
    enum weir_status status =
        DB_RUN(db, Q_list_datasets_of_tenant, &rows, err, DB_TEXT(sender->tenant));
    if (status != WEIR_OK)
        return status;
    for (size_t at = 0; at < set->count; at = end_of_dataset(set, at)) {
        uint64_t dataset = weir_sample_dataset(set->ids[at]);
        if (!is_listed(rows, dataset))
            return weir_fail(err, WEIR_DENIED,
                             "the key of '%s' is for tenant '%s', who has no pipeline with dataset "
                             "%" PRIu64,
                             sender->name, sender->tenant, dataset);
    }
    return WEIR_OK;
}
