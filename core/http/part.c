/* Parts: see part.h. */
#include "core/http/part.h"

#include "core/base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Without its quotes. */
static struct weir_bytes bare(const char *etag)
{
    size_t size = strlen(etag);
    bool is_quoted = size >= 2 && etag[0] == '"' && etag[size - 1] == '"';

    return is_quoted ? weir_bytes(etag + 1, size - 2) : weir_bytes(etag, size);
}

bool weir_part_is(const struct weir_part *part, const struct weir_part_answer *answer,
                  char text[WEIR_PART_TEXT])
{
    uint64_t from = 0, to = 0, last = part->from + part->size - 1;
    bool is_said = sscanf(answer->range, "bytes %" SCNu64 "-%" SCNu64 "/", &from, &to) == 2;

    if (!is_said || from != part->from || to != last)
        snprintf(text, WEIR_PART_TEXT,
                 "found an answer of the bytes '%.40s', expected %" PRIu64 "-%" PRIu64,
                 answer->range, part->from, last);
    else if (answer->size != part->size)
        snprintf(text, WEIR_PART_TEXT, "found an answer of %" PRIu64 " bytes, expected %" PRIu64,
                 answer->size, part->size);
    else if (*answer->etag && !weir_bytes_equal(bare(answer->etag), bare(part->etag)))
        snprintf(text, WEIR_PART_TEXT, "found an answer of another object than was asked for");
    else
        return true;
    return false;
}
