/* Deaths after a position: see deaths.h. */
#include "storage/catalog/deaths.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

static int by_first(const void *a, const void *b)
{
    const struct id_range *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* A sample may be removed and erased later: ranges that meet become one. */
static void unite(struct deaths *deaths)
{
    size_t kept = 0;

    if (deaths->count == 0)
        return;
    qsort(deaths->at, deaths->count, sizeof(*deaths->at), by_first);
    for (size_t i = 1; i < deaths->count; i++) {
        if (deaths->at[i].first > deaths->at[kept].end)
            deaths->at[++kept] = deaths->at[i];
        else if (deaths->at[i].end > deaths->at[kept].end)
            deaths->at[kept].end = deaths->at[i].end;
    }
    deaths->count = kept + 1;
}

enum weir_status storage_deaths_load(struct weir_db *db, const struct dataset *dataset,
                                     uint64_t position, struct deaths *ret_deaths,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(db, Q_feed_deaths_after, &rows, err, DB_I64(dataset->number), DB_I64(position));
    struct deaths deaths = {0};

    if (status != WEIR_OK)
        return status;
    deaths.count = weir_rows_count(rows);
    deaths.at = weir_calloc(deaths.count + 1, sizeof(*deaths.at));
    for (size_t i = 0; i < deaths.count; i++) {
        uint64_t first = (uint64_t)weir_rows_i64(rows, i, "first");

        deaths.at[i] = (struct id_range){.first = first,
                                         .end = first + (uint64_t)weir_rows_i64(rows, i, "count")};
    }
    unite(&deaths);
    *ret_deaths = deaths;
    return WEIR_OK;
}

void storage_deaths_fini(struct deaths *deaths)
{
    free(deaths->at);
    *deaths = (struct deaths){0};
}

bool storage_deaths_hold(const struct deaths *deaths, uint64_t id)
{
    size_t low = 0, high = deaths->count;

    /* the first range that ends after the id */
    WEIR_BISECT(low, high, middle, deaths->at[middle].end <= id);
    return low < deaths->count && deaths->at[low].first <= id;
}
