/* See storage_push_lab.h. */
#include "tests/component/storage_push_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "tests/support/loop.h"

#include <string.h>

enum { ROUND_MS = 10 };

static void keep(struct pushed *pushed, const struct msg_pushed *answer)
{
    struct weir_arena *arena = pushed->lab->arena;
    size_t count = answer->records.count;
    uint64_t *records = weir_arena_alloc(arena, count * sizeof(*records) + 1);
    const char **reasons = weir_arena_alloc(arena, count * sizeof(*reasons) + 1);
    char *mark = weir_arena_strndup(arena, (const char *)answer->mark.at, answer->mark.size);

    for (size_t i = 0; i < count; i++) {
        records[i] = answer->records.at[i];
        reasons[i] = weir_arena_format(arena, "%s", answer->reasons.at[i]);
    }
    pushed->answer = *answer;
    pushed->answer.records = (struct weir_u64s){records, count};
    pushed->answer.reasons = (struct weir_strs){reasons, count};
    pushed->answer.mark = weir_bytes(mark, answer->mark.size);
    pushed->answer.format = weir_arena_format(arena, "%s", answer->format);
    pushed->answer.delimiter = weir_arena_format(arena, "%s", answer->delimiter);
}

static void on_pushed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pushed *pushed = owner;

    pushed->is_done = true;
    pushed->status = reply != NULL ? WEIR_OK : err->status;
    if (reply != NULL)
        keep(pushed, reply->message);
    else
        pushed->lab->err = *err;
}

void storage_push_begin(struct storage_lab *lab, const struct msg_push *push,
                        struct weir_bytes payload, struct pushed *pushed)
{
    struct weir_frames frames = {.count = 0};

    *pushed = (struct pushed){.lab = lab};
    if (payload.size > 0)
        weir_frames_copy(&frames, payload.at, payload.size);
    weir_rpc_call_framed(lab->peer, &(struct weir_framed_call){.type = MSG_push,
                                                               .message = push,
                                                               .frames = &frames,
                                                               .deadline_ms = TEST_PATIENCE_MS,
                                                               .done = on_pushed,
                                                               .owner = pushed});
}

void storage_push_await(struct pushed *pushed)
{
    int64_t until_ms = weir_now_ms() + 2 * TEST_PATIENCE_MS;

    while (!pushed->is_done) {
        weir_require(weir_now_ms() < until_ms);
        weir_loop_step(pushed->lab->loop, ROUND_MS);
    }
}

struct pushed storage_push_text(struct storage_lab *lab, const struct msg_push *push,
                                const char *text)
{
    struct pushed pushed;

    storage_push_begin(lab, push, weir_bytes_of(text), &pushed);
    storage_push_await(&pushed);
    return pushed;
}
