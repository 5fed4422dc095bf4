/* See object_window.h. */
#include "storage/scanning/object_window.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { AHEAD_BYTES = 4 * S3_RANGE_BYTES_MAX };

struct object_window {
    struct s3_ranges *ranges;
    struct s3_range_request *request; /* NULL: nothing is waited for */
    char *why;                        /* of the last request that failed */
    bool was_requested;               /* for what is wanted now */
    uint64_t ahead;                   /* what lies before it has been asked for */
};

struct object_window *storage_object_window_new(struct s3_ranges *ranges)
{
    struct object_window *window = weir_calloc(1, sizeof(*window));

    window->ranges = ranges;
    return window;
}

void storage_object_window_free(struct object_window *window)
{
    if (window == NULL)
        return;
    storage_s3_range_request_drop(window->request);
    free(window->why);
    free(window);
}

bool storage_object_window_is_waiting(const struct object_window *window)
{
    return window != NULL && window->request;
}

static void on_there(void *owner, const char *why)
{
    struct object_window *window = owner;

    window->request = NULL;
    window->why = why != NULL ? weir_strdup(why) : NULL;
}

static void on_ahead(void *owner, const char *why)
{
    (void)owner;
    (void)why; /* whoever needs it asks again */
}

/* By whole requests, so that there are few. */
static void prefetch(struct object_window *window, const struct s3_span *wanted)
{
    uint64_t size = wanted->file->size;
    uint64_t end = wanted->offset + wanted->length + AHEAD_BYTES;
    struct s3_span ahead = *wanted;

    ahead.offset = wanted->offset + wanted->length;
    if (ahead.offset + AHEAD_BYTES / 2 < window->ahead || ahead.offset >= size)
        return;
    if (ahead.offset < window->ahead)
        ahead.offset = window->ahead;
    end -= end % S3_RANGE_BYTES_MAX;
    end = end < size ? end : size;
    if (end <= ahead.offset)
        return;
    ahead.length = end - ahead.offset;
    window->ahead = end;
    (void)storage_s3_ranges_request(window->ranges, &ahead, 1, on_ahead, NULL); /* nobody waits */
}

/* The beginning of the object that the format needs to see, as far as is known. */
static struct s3_span head_of(struct object_window *window, const struct s3_span *wanted)
{
    const struct format *format = wanted->dataset->declaration->format;
    uint64_t size = wanted->file->size;
    struct s3_span head = *wanted;
    WEIR_AUTO_BUF bytes = {0};
    uint64_t needed;

    head.offset = 0;
    head.length = size < FORMAT_HEAD_MAX ? size : FORMAT_HEAD_MAX;
    weir_buf_reserve(&bytes, head.length + 1);
    if (format->head_bytes == NULL || !storage_s3_ranges_read(window->ranges, &head, bytes.at))
        return head;
    needed = format->head_bytes(weir_bytes(bytes.at, head.length));
    needed = needed < FORMAT_RECORD_MAX ? needed : FORMAT_RECORD_MAX;
    if (needed > head.length)
        head.length = needed < size ? needed : size;
    return head;
}

static enum weir_status tell_missing(struct object_window *window, struct weir_error *err)
{
    WEIR_AUTO_FREE char *why = WEIR_TAKE(window->why);

    window->was_requested = false;
    if (why != NULL)
        return weir_fail(err, WEIR_UNAVAILABLE, "its object cannot be read: %s", why);
    return weir_fail(err, WEIR_STALE, "its object is another one by now, or gone");
}

enum weir_status storage_object_window_open(struct object_window *window,
                                            const struct s3_span *wanted, bool wants_head,
                                            int *ret_fd, struct weir_error *err)
{
    struct s3_span spans[2] = {*wanted};
    size_t count = 1, missing = storage_s3_ranges_missing(window->ranges, wanted);
    bool was_head = false;

    *ret_fd = -1;
    if (window->request != NULL)
        return WEIR_OK;
    if (wants_head) {
        spans[count] = head_of(window, wanted);
        was_head = spans[count].length > FORMAT_HEAD_MAX;
        missing += storage_s3_ranges_missing(window->ranges, &spans[count++]);
    }
    if (missing > 0 && window->was_requested && (window->why != NULL || !was_head))
        return tell_missing(window, err);
    free(WEIR_TAKE(window->why)); /* its bytes have come since */
    if (missing > 0)
        window->request = storage_s3_ranges_request(window->ranges, spans, count, on_there, window);
    window->was_requested = missing > 0;
    prefetch(window, wanted);
    if (missing == 0)
        *ret_fd = storage_s3_ranges_open(window->ranges, spans, count);
    if (missing == 0 && *ret_fd < 0)
        return weir_fail(err, WEIR_STALE, "what was fetched of its object cannot be read");
    return WEIR_OK;
}
