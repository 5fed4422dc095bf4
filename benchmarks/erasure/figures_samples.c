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
    uint64_t samples = 0;
    int64_t started = weir_now_ns();

    if (status == WEIR_OK)
        status = people_erase(bench, (const char *const[]){name}, 1, &samples, err);
    if (status == WEIR_OK && samples != bench->lines / 2)
        status = weir_fail(err, WEIR_INTERNAL, "erased %" PRIu64 " samples, expected %zu", samples,
                           bench->lines / 2);
    *ret_rate = (double)(bench->lines / 2) * 1e9 / (double)(weir_now_ns() - started);
    return status;
}
