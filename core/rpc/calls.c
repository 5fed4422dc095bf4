/* The list of open calls: an array sorted by request number, which only ever grows at its end. */
#include "core/rpc/calls.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

void weir_call_free(struct weir_call *call)
{
    if (call == NULL)
        return;
    weir_buf_fini(&call->header);
    weir_frames_clear(&call->frames);
    free(call->refusal);
    free(call);
}

void weir_calls_fini(struct weir_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        weir_call_free(calls->at[i]);
    free(calls->at);
    *calls = (struct weir_calls){0};
}

struct weir_call *weir_calls_add(struct weir_calls *calls, uint64_t request)
{
    weir_require(calls->count == 0 || calls->at[calls->count - 1]->request < request);
    calls->at = weir_grow(calls->at, calls->count, &calls->capacity, sizeof(void *));
    struct weir_call *call = weir_calloc(1, sizeof(*call));
    call->request = request;
    calls->at[calls->count++] = call;
    return call;
}

/* Index at which `request` stands or would stand. */
static size_t position_of(const struct weir_calls *calls, uint64_t request)
{
    size_t low = 0, high = calls->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (calls->at[middle]->request < request)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct weir_call *weir_calls_find(const struct weir_calls *calls, uint64_t request)
{
    size_t at = position_of(calls, request);
    return at < calls->count && calls->at[at]->request == request ? calls->at[at] : NULL;
}

struct weir_call *weir_calls_take(struct weir_calls *calls, uint64_t request)
{
    size_t at = position_of(calls, request);
    weir_require(at < calls->count && calls->at[at]->request == request);
    struct weir_call *call = calls->at[at];
    calls->count--;
    memmove(calls->at + at, calls->at + at + 1, (calls->count - at) * sizeof(void *));
    return call;
}

void weir_calls_forget(struct weir_calls *calls, const void *owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->at[i]->owner == owner)
            weir_call_free(calls->at[i]);
        else
            calls->at[kept++] = calls->at[i];
    }
    calls->count = kept;
}

struct weir_call *weir_calls_expired(const struct weir_calls *calls, int64_t now_ms)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->at[i]->over_limit || calls->at[i]->deadline_ms <= now_ms)
            return calls->at[i];
    }
    return NULL;
}

int64_t weir_calls_next_ms(const struct weir_calls *calls)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < calls->count; i++) {
        const struct weir_call *call = calls->at[i];
        int64_t due = call->deadline_ms < call->send_ms ? call->deadline_ms : call->send_ms;
        if (call->over_limit)
            due = 0;
        next = due < next ? due : next;
    }
    return next;
}
