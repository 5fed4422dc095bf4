/* Driving a loop from a test: step until something is true, never sleep and hope; and a clock that moves
 * only when the test says so. */
#ifndef WEIR_TESTS_SUPPORT_LOOP_H
#define WEIR_TESTS_SUPPORT_LOOP_H

#include "core/base/clock.h"
#include "core/loop/loop.h"

enum { TEST_PATIENCE_MS = 120000, TEST_STEP_MS = 20 };

/* Runs rounds until `*done`; aborts when it takes absurdly long, which only a defect does. */
static inline void test_loop_until(struct weir_loop *loop, const bool *done)
{
    int64_t limit = weir_now_ms() + TEST_PATIENCE_MS;
    while (!*done) {
        weir_require(weir_now_ms() < limit);
        weir_loop_step(loop, TEST_STEP_MS);
    }
}

/* Runs rounds while anything happens, for at most so many: for what must not happen. */
static inline void test_loop_rounds(struct weir_loop *loop, int rounds)
{
    for (int i = 0; i < rounds; i++)
        weir_loop_step(loop, 1);
}

struct test_clock {
    int64_t now_ms;
};

static inline int64_t test_clock_read(void *owner)
{
    const struct test_clock *clock = (const struct test_clock *)owner;
    return clock->now_ms;
}

/* From here on the loop's time stands still but for test_clock_advance(). */
static inline void test_clock_start(struct test_clock *clock, struct weir_loop *loop)
{
    clock->now_ms = 1000000;
    weir_loop_use_clock(loop, test_clock_read, clock);
}

static inline void test_clock_advance(struct test_clock *clock, struct weir_loop *loop, int64_t ms)
{
    clock->now_ms += ms;
    weir_loop_step(loop, 0);
}

#endif
