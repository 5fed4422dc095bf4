/* Complaints about a source: see complaints.h. */
#include "storage/catalog/complaints.h"

#include "core/base/memory.h"
#include "storage/formats/text.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct complaints *complaints, size_t i)
{
    free(complaints->at[i].path);
    free(complaints->at[i].text);
    complaints->at[i] = complaints->at[--complaints->count];
}

void storage_complaints_fini(struct complaints *complaints)
{
    while (complaints->count > 0)
        drop(complaints, complaints->count - 1);
}

void storage_complaints_put(struct complaints *complaints, const char *path, const char *reason)
{
    WEIR_AUTO_FREE char *place = storage_printable(path);

    for (size_t i = 0; i < complaints->count; i++) {
        if (strcmp(complaints->at[i].path, path) == 0)
            drop(complaints, i);
    }
    if (complaints->count == COMPLAINTS_KEPT_MAX)
        return;
    complaints->at[complaints->count++] = (struct complaint){
        .path = weir_strdup(path),
        .text = *place ? weir_format("%s: %s", place, reason) : weir_strdup(reason),
    };
}

void storage_complaints_forget(struct complaints *complaints, const struct scope *scope)
{
    size_t range;

    for (size_t i = complaints->count; i-- > 0;) {
        if (storage_scope_find(scope, complaints->at[i].path, &range))
            drop(complaints, i);
    }
}
