/* Bytes of nobody: see unclaimed.h. */
#include "storage/intake/unclaimed.h"

#include "core/base/memory.h"

#include <stdlib.h>

void storage_unclaimed_fini(struct unclaimed *unclaimed)
{
    free(unclaimed->at);
    *unclaimed = (struct unclaimed){0};
}

static void add_up_to(struct unclaimed *unclaimed, uint64_t end)
{
    if (end <= unclaimed->from)
        return;
    unclaimed->at =
        weir_grow(unclaimed->at, unclaimed->count, &unclaimed->capacity, sizeof(*unclaimed->at));
    unclaimed->at[unclaimed->count++] =
        (struct format_range){unclaimed->from, end - unclaimed->from};
    unclaimed->from = end;
}

void storage_unclaimed_record(struct unclaimed *unclaimed, uint64_t offset)
{
    if (unclaimed->is_open && !unclaimed->is_by_record)
        return;
    if (unclaimed->is_open)
        add_up_to(unclaimed, offset);
    unclaimed->is_open = true;
    unclaimed->from = offset;
}

void storage_unclaimed_end(struct unclaimed *unclaimed, uint64_t offset)
{
    if (unclaimed->is_open)
        add_up_to(unclaimed, offset);
    unclaimed->is_open = false;
}

void storage_unclaimed_pause(struct unclaimed *unclaimed, uint64_t offset)
{
    if (unclaimed->is_open)
        add_up_to(unclaimed, offset);
}
