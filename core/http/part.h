/* A part of something that an HTTP server has: a range of its bytes, of the version with a certain ETag (RFC 9110,
 * 14 and 8.8.3). Pure. */
#ifndef WEIR_HTTP_PART_H
#define WEIR_HTTP_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR_PART_TEXT = 128 };

/* The bytes that were asked for; `size` is not 0. */
struct weir_part {
    uint64_t from, size;
    const char *etag;
};

/* An answer of status 206. */
struct weir_part_answer {
    const char *range; /* its Content-Range */
    const char *etag;  /* its ETag; "": it has none */
    uint64_t size;     /* of its body */
};

/* True when the answer is the part; else `text` says what it is. */
bool weir_part_is(const struct weir_part *part, const struct weir_part_answer *answer,
                  char text[WEIR_PART_TEXT]);

#endif
