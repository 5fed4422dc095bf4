/* One person's erasure of many samples: from the request until nothing of them is found any more. */
#include "benchmarks/erasure/bench.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <inttypes.h>

enum weir_status erase_half(void *state, double *ret_rate, struct weir_error *err)
{
    struct erasure_bench *bench = state;
    const struct people people = {.number = ++bench->datasets, .has_owner = true};
    enum weir_status status = people_register(bench, &people, err);
    WEIR_AUTO_FREE char *name = people_name(&people, 0);
    const char *const subjects[] = {name};
    const struct msg_erase_accept accept = {
        .uuid = name, .dataset = "", .subjects = {subjects, 1}, .reference = ""};
    const struct rig_question question = {RIG_STORAGE, MSG_erase_accept, &accept,
                                          MSG_erase_accepted};
    struct msg_erase_accepted accepted;
    int64_t started = weir_now_ns();

    if (status == WEIR_OK)
        status = rig_ask(bench->rig, &question, &accepted, err);
    if (status == WEIR_OK && accepted.matched != bench->lines / 2)
        status = weir_fail(err, WEIR_INTERNAL, "erased %" PRIu64 " samples, expected %zu",
                           accepted.matched, bench->lines / 2);
    if (status == WEIR_OK)
        status = await_verified(bench, accepted.erasure, accepted.erasure, err);
    *ret_rate = (double)(bench->lines / 2) * 1e9 / (double)(weir_now_ns() - started);
    return status;
}
