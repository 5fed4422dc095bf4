/* Which samples stopped being live only after a position of the feed: as of that position they still
 * were. Taken from the feed, which keeps those rows as long as a consumer stands at the position. */
#ifndef WEIR_STORAGE_DEATHS_H
#define WEIR_STORAGE_DEATHS_H

#include "storage/catalog/catalog.h"

struct deaths {
    struct id_range {
        uint64_t first, end; /* ids */
    } * at;                  /* ascending, apart */
    size_t count;
};

enum weir_status storage_deaths_load(struct weir_db *db, const struct dataset *dataset,
                                     uint64_t position, struct deaths *ret_deaths,
                                     struct weir_error *err) WEIR_MUST_USE;
void storage_deaths_fini(struct deaths *deaths);
bool storage_deaths_hold(const struct deaths *deaths, uint64_t id);

#endif
