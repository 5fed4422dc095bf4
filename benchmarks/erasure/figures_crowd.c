/* Many people at once, each with a request, and the same people in one request. */
#include "benchmarks/erasure/bench.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

enum { ACCEPT_MS = 60000 };

/* Requests that are under way. */
struct crowd {
    size_t left;
    uint64_t numbers[CROWD]; /* their numbers: with gaps where a request came twice */
    size_t accepted;
    enum weir_status status;
    struct weir_error err;
};

static void on_accepted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct crowd *crowd = owner;

    crowd->left--;
    if (reply == NULL) {
        crowd->status = err->status;
        crowd->err = *err;
        return;
    }
    const struct msg_erase_accepted *accepted = reply->message;
    crowd->numbers[crowd->accepted++] = accepted->erasure;
}

static void ask_for(struct erasure_bench *bench, const struct people *people, size_t line,
                    struct crowd *crowd)
{
    WEIR_AUTO_FREE char *name = people_name(people, line);
    const char *const subjects[] = {name};
    const struct msg_erase_accept accept = {
        .uuid = name, .dataset = "", .subjects = {subjects, 1}, .reference = ""};

    weir_rpc_call(rig_peer(bench->rig, RIG_STORAGE), MSG_erase_accept, &accept, ACCEPT_MS,
                  on_accepted, crowd);
}

enum weir_status erase_crowd(void *state, double *ret_rate, struct weir_error *err)
{
    struct erasure_bench *bench = state;
    const struct people people = {.number = ++bench->datasets};
    struct crowd crowd = {.left = CROWD, .status = WEIR_OK};
    enum weir_status status = people_register(bench, &people, err);
    int64_t started = weir_now_ns();

    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < CROWD; i++)
        ask_for(bench, &people, i, &crowd);
    while (crowd.left > 0)
        rig_step(bench->rig);
    if (crowd.status != WEIR_OK) {
        *err = crowd.err;
        return crowd.status;
    }
    status = await_verified(bench, &(const struct weir_u64s){crowd.numbers, CROWD}, err);
    *ret_rate = CROWD * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

enum weir_status erase_list(void *state, double *ret_rate, struct weir_error *err)
{
    struct erasure_bench *bench = state;
    const struct people people = {.number = ++bench->datasets};
    enum weir_status status = people_register(bench, &people, err);
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    const char *names[CROWD];
    uint64_t samples = 0;

    for (size_t i = 0; i < CROWD; i++) {
        WEIR_AUTO_FREE char *name = people_name(&people, i);

        names[i] = weir_arena_format(arena, "%s", name);
    }
    int64_t started = weir_now_ns();
    if (status == WEIR_OK)
        status = people_erase(bench, names, CROWD, &samples, err);
    *ret_rate = CROWD * 1e9 / (double)(weir_now_ns() - started);
    return status;
}
