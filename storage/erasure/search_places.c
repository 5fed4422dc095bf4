/* Places of a search: see search_places.h. */
#include "storage/erasure/search_places.h"

#include <inttypes.h>
#include <string.h>

/* The name at *names, which moves on to the next; false after the last, and where there is no room for more. */
static bool next_name(const char **names, size_t index, struct weir_bytes *ret_name)
{
    size_t size = strcspn(*names, "\n");

    if (**names == '\0' || index + 1 == SEARCH_PLACES_MAX)
        return false;
    *ret_name = weir_bytes(*names, size);
    *names += size + ((*names)[size] == '\n');
    return true;
}

struct searched *storage_search_place(struct search_places *places, const char *names,
                                      const char *path)
{
    struct weir_bytes wanted = weir_bytes(path, strcspn(path, "/")), name;
    size_t count = 0;

    for (; next_name(&names, count, &name); count++)
        if (weir_bytes_equal(name, wanted))
            return &places->at[count];
    return &places->at[*path == '/' && count > 0 ? count - 1 : SEARCH_PLACES_MAX - 1];
}

static void print(struct searched searched, struct weir_bytes name, struct weir_buf *out)
{
    weir_buf_printf(out, "%" PRIu64 " %" PRIu64 " %.*s\n", searched.files, searched.bytes,
                    (int)name.size, (const char *)name.at);
}

void storage_search_places_print(const struct search_places *places, const char *names,
                                 struct weir_buf *out)
{
    struct searched others = places->at[SEARCH_PLACES_MAX - 1];
    struct weir_bytes name;

    for (size_t i = 0; next_name(&names, i, &name); i++)
        print(places->at[i], name, out);
    if (others.files > 0)
        print(others, weir_bytes_of(""), out);
}
