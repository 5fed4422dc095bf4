/* Notes: see notes.h. */
#include "storage/catalog/notes.h"

#include "core/base/memory.h"
#include "storage/formats/text.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct notes *notes, size_t i)
{
    free(notes->at[i].path);
    free(notes->at[i].text);
    notes->at[i] = notes->at[--notes->count];
}

void storage_notes_fini(struct notes *notes)
{
    while (notes->count > 0)
        drop(notes, notes->count - 1);
}

void storage_notes_put(struct notes *notes, const char *path, const char *reason)
{
    WEIR_AUTO_FREE char *place = storage_printable(path);

    for (size_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->at[i].path, path) == 0)
            drop(notes, i);
    }
    if (notes->count == NOTES_MAX)
        return;
    notes->at[notes->count++] = (struct note){
        .path = weir_strdup(path),
        .text = *place ? weir_format("%s: %s", place, reason) : weir_strdup(reason),
    };
}

void storage_notes_forget(struct notes *notes, const struct scope *scope)
{
    size_t range;

    for (size_t i = notes->count; i-- > 0;) {
        if (storage_scope_find(scope, notes->at[i].path, &range))
            drop(notes, i);
    }
}
