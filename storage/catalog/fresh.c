/* Bytes without sums: see fresh.h. */
#include "storage/catalog/fresh.h"

#include "core/base/memory.h"

#include <stdlib.h>

void storage_fresh_fini(struct fresh *fresh)
{
    free(fresh->at);
    *fresh = (struct fresh){0};
}

/* A file that grows is reported as one. */
static bool join(struct fresh_bytes *last, const struct fresh_bytes *bytes)
{
    if (last->file != bytes->file || (last->to == 0) != (bytes->to == 0))
        return false;
    last->from = bytes->from < last->from ? bytes->from : last->from;
    last->to = bytes->to > last->to ? bytes->to : last->to;
    return true;
}

void storage_fresh_add(struct fresh *fresh, struct fresh_bytes bytes)
{
    if (fresh->count > 0 && join(&fresh->at[fresh->count - 1], &bytes))
        return;
    if (fresh->count == FRESH_MAX) {
        fresh->is_lost = true;
        return;
    }
    fresh->at = weir_grow(fresh->at, fresh->count, &fresh->capacity, sizeof(*fresh->at));
    fresh->at[fresh->count++] = bytes;
}
