/* Finds of a search: see search_finds.h. */
#include "storage/erasure/search_finds.h"

#include "core/base/memory.h"
#include "storage/formats/text.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 8 };

void storage_search_note(struct search_prints *prints, uint64_t print)
{
    if (prints->at.count < FINDS_MAX)
        storage_id_list_add(&prints->at, print);
    else
        prints->is_cut = true;
}

void storage_finds_fini(struct search_finds *finds)
{
    for (size_t i = 0; i < finds->file_count; i++)
        free(finds->files[i]);
    free(finds->files);
    free(finds->at);
    *finds = (struct search_finds){0};
}

static uint32_t number_of(struct search_finds *finds, const char *path)
{
    if (finds->file_count == 0 || strcmp(finds->files[finds->file_count - 1], path) != 0) {
        finds->files = weir_grow(finds->files, finds->file_count, &finds->file_capacity,
                                 sizeof(*finds->files));
        finds->files[finds->file_count++] = weir_strdup(path);
    }
    return (uint32_t)finds->file_count - 1;
}

void storage_finds_add(struct search_finds *finds, const char *path, uint64_t print)
{
    if (finds->count == FINDS_MAX) {
        finds->beyond++;
        return;
    }
    finds->at = weir_grow(finds->at, finds->count, &finds->capacity, sizeof(*finds->at));
    finds->at[finds->count++] = (struct find){.print = print, .file = number_of(finds, path)};
}

void storage_finds_excuse(struct search_finds *finds, const struct id_list *shared)
{
    size_t kept = 0;

    for (size_t i = 0; i < finds->count; i++) {
        if (!storage_id_list_has(shared, finds->at[i].print))
            finds->at[kept++] = finds->at[i];
    }
    finds->count = kept;
}

uint64_t storage_finds_count(const struct search_finds *finds)
{
    return finds->count + finds->beyond;
}

void storage_finds_print(const struct search_finds *finds, struct weir_buf *out)
{
    WEIR_AUTO_BUF names = {0};
    size_t files = 0;

    for (size_t i = 0; i < finds->count; i++) {
        if (i > 0 && finds->at[i].file == finds->at[i - 1].file)
            continue;
        if (files++ < NAMED_MAX) {
            WEIR_AUTO_FREE char *name = storage_printable(finds->files[finds->at[i].file]);

            weir_buf_printf(&names, "%s%s", files > 1 ? ", " : "", name);
        }
    }
    weir_buf_printf(out, "in %zu files: %s%s", files, weir_buf_text(&names),
                    files > NAMED_MAX || finds->beyond > 0 ? ", …" : "");
}
