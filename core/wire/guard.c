/* Walks the tags of msgpack bytes without building anything. msgpack-c takes memory for whatever a
 * header announces (a few bytes can ask for gigabytes); here an object is counted against the bytes
 * that are really there. */
#include "core/wire/guard.h"

enum { DEPTH_MAX = 8 };

/* Content that follows a tag. */
enum shape {
    SCALAR, /* `width` bytes */
    BYTES,  /* a count of `width` bytes, then so many bytes */
    ITEMS,  /* a count of `width` bytes, then so many objects */
    PAIRS,  /* the same with two objects each */
    REFUSED,
};

/* Tags up to and including `last`; a count of width 0 is in the tag itself, under `mask`. */
static const struct tag {
    uint8_t last;
    uint8_t shape;
    uint8_t width;
    uint8_t mask;
} TAGS[] = {
    // clang-format off
    {0x7f, SCALAR, 0, 0},  {0x8f, PAIRS, 0, 0x0f}, {0x9f, ITEMS, 0, 0x0f}, {0xbf, BYTES, 0, 0x1f},
    {0xc0, SCALAR, 0, 0},  /* nil */
    {0xc1, REFUSED, 0, 0}, /* never used by msgpack */
    {0xc3, SCALAR, 0, 0},  /* false, true */
    {0xc4, BYTES, 1, 0},   {0xc5, BYTES, 2, 0},  {0xc6, BYTES, 4, 0},
    {0xc9, REFUSED, 0, 0}, /* ext */
    {0xca, SCALAR, 4, 0},  {0xcb, SCALAR, 8, 0}, /* floats */
    {0xcc, SCALAR, 1, 0},  {0xcd, SCALAR, 2, 0}, {0xce, SCALAR, 4, 0}, {0xcf, SCALAR, 8, 0},
    {0xd0, SCALAR, 1, 0},  {0xd1, SCALAR, 2, 0}, {0xd2, SCALAR, 4, 0}, {0xd3, SCALAR, 8, 0},
    {0xd8, REFUSED, 0, 0}, /* fixext */
    {0xd9, BYTES, 1, 0},   {0xda, BYTES, 2, 0},  {0xdb, BYTES, 4, 0},
    {0xdc, ITEMS, 2, 0},   {0xdd, ITEMS, 4, 0},  {0xde, PAIRS, 2, 0},  {0xdf, PAIRS, 4, 0},
    {0xff, SCALAR, 0, 0},  /* small negative integers */
    // clang-format on
};

struct scan {
    struct weir_bytes left;
    uint64_t pending;             /* objects announced and not yet seen, at all depths together */
    uint64_t open[DEPTH_MAX + 1]; /* of them, how many at each depth; [0] is the message itself */
    int depth;
};

static bool skip(struct scan *scan, uint64_t size)
{
    if (size > scan->left.size)
        return false;
    scan->left.at += size;
    scan->left.size -= (size_t)size;
    return true;
}

static const struct tag *find_tag(uint8_t byte)
{
    const struct tag *tag = TAGS;
    while (byte > tag->last)
        tag++;
    return tag;
}

/* msgpack is big-endian. False when the bytes end first. */
static bool read_count(struct scan *scan, uint8_t width, uint64_t *ret_count)
{
    const uint8_t *at = scan->left.at;
    if (!skip(scan, width))
        return false;
    *ret_count = 0;
    for (uint8_t i = 0; i < width; i++)
        *ret_count = *ret_count << 8 | at[i];
    return true;
}

/* Goes down into a container of `count` objects. Returns NULL or the complaint. */
static const char *enter(struct scan *scan, uint64_t count)
{
    if (scan->depth == DEPTH_MAX)
        return "nests deeper than eight";
    scan->pending += count;
    if (scan->pending > scan->left.size) /* an object takes a byte at least */
        return "announces more objects than it has bytes";
    if (count > 0)
        scan->open[++scan->depth] = count;
    return NULL;
}

/* Takes one object, or the head of a container. Returns NULL or the complaint. */
static const char *take(struct scan *scan)
{
    uint8_t byte = *scan->left.at;
    const struct tag *tag = find_tag(byte);
    uint64_t count = byte & tag->mask;

    skip(scan, 1);
    scan->pending--;
    scan->open[scan->depth]--;
    if (tag->shape == REFUSED)
        return "holds a tag that no message uses";
    if (tag->shape == SCALAR)
        return skip(scan, tag->width) ? NULL : "ends inside a number";
    if (tag->width > 0 && !read_count(scan, tag->width, &count))
        return "ends inside a count";
    if (tag->shape == BYTES)
        return skip(scan, count) ? NULL : "announces more bytes than it has";
    return enter(scan, tag->shape == PAIRS ? 2 * count : count);
}

enum weir_status weir_guard(struct weir_bytes bytes, struct weir_error *err)
{
    struct scan scan = {.left = bytes, .pending = 1, .open = {1}};

    for (size_t objects = 0; scan.pending > 0; objects++) {
        if (objects == WEIR_GUARD_OBJECTS_MAX)
            return weir_fail(err, WEIR_LIMIT, "holds more than %d objects", WEIR_GUARD_OBJECTS_MAX);
        if (scan.left.size == 0)
            return weir_fail(err, WEIR_INVALID, "malformed at byte %zu: ends too early",
                             bytes.size);
        const char *complaint = take(&scan);
        if (complaint != NULL)
            return weir_fail(err, WEIR_INVALID, "malformed at byte %zu: %s",
                             bytes.size - scan.left.size, complaint);
        while (scan.depth > 0 && scan.open[scan.depth] == 0)
            scan.depth--;
    }
    if (scan.left.size > 0)
        return weir_fail(err, WEIR_INVALID, "malformed: %zu bytes after the message",
                         scan.left.size);
    return WEIR_OK;
}
