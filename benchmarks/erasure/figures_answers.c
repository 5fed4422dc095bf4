/* How long others wait for storage while it erases: a holder of samples renews its lease again and again. */
#include "benchmarks/erasure/bench.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { ANSWERS_ALONE = 5000, HOLDER = 7, TIMES_THE_LINES = 3, LONGEST_MS = 100 };

enum weir_status answers_ask(struct erasure_bench *bench, struct answers *answers,
                             struct weir_error *err)
{
    const struct msg_hold hold = {
        .holder = "probe", .session = HOLDER, .epoch = bench->erasure_epoch};
    const struct rig_call call = {RIG_STORAGE, MSG_hold, &hold, MSG_hold_is};
    struct msg_hold_is granted;
    int64_t began_ns = weir_now_ns();
    enum weir_status status = rig_request(bench->rig, &call, &granted, err);

    if (status != WEIR_OK)
        return status;
    bench->erasure_epoch = granted.epoch;
    answers->ms = weir_grow(answers->ms, answers->count, &answers->capacity, sizeof(*answers->ms));
    answers->ms[answers->count++] = (double)(weir_now_ns() - began_ns) / 1e6;
    return WEIR_OK;
}

static double rate_of(const struct answers *answers)
{
    double sum_ms = 0;

    for (size_t i = 0; i < answers->count; i++)
        sum_ms += answers->ms[i];
    return (double)answers->count * 1e3 / sum_ms;
}

/* The ratio of two rates says nothing about the longest. */
static void tell(struct answers *answers)
{
    struct bench_spread spread = bench_spread_of(answers->ms, answers->count);

    fprintf(stderr,
            "erasure.answers: %zu answers meanwhile: median %.2f ms, 99 %% %.2f ms, 99.9 %% %.1f "
            "ms, longest %.1f ms\n",
            answers->count, spread.median, answers->ms[answers->count * 99 / 100],
            answers->ms[answers->count * 999 / 1000], spread.max);
}

/* Answers to the requests of a holder while most of a large dataset is erased. */
static enum weir_status ask_meanwhile(struct erasure_bench *bench, struct answers *answers,
                                      struct weir_error *err)
{
    const struct people people = {.number = ++bench->datasets, .has_owner = true};
    WEIR_AUTO_FREE char *name = people_name(&people, 0);
    uint64_t at_least;
    enum weir_status status;

    bench->lines *= TIMES_THE_LINES;
    status = people_register(bench, &people, err);
    bench->lines /= TIMES_THE_LINES;
    bench->answers = answers;
    if (status == WEIR_OK)
        status = people_erase(bench, (const char *const[]){name}, 1, &at_least, err);
    bench->answers = NULL;
    if (status == WEIR_OK)
        tell(answers);
    return status;
}

enum weir_status answer_while_erasing(void *state, double *ret_rate, struct weir_error *err)
{
    struct answers answers = {0};
    enum weir_status status = ask_meanwhile(state, &answers, err);

    *ret_rate = rate_of(&answers);
    free(answers.ms);
    return status;
}

enum weir_status answer_longest(void *state, double *ret_rate, struct weir_error *err)
{
    struct answers answers = {0};
    enum weir_status status = ask_meanwhile(state, &answers, err);

    if (status == WEIR_OK) /* tell() has sorted them */
        *ret_rate = 1e3 / answers.ms[answers.count - 1];
    free(answers.ms);
    return status;
}

enum weir_status answer_limit(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1e3 / LONGEST_MS;
    return WEIR_OK;
}

enum weir_status answer_alone(void *state, double *ret_rate, struct weir_error *err)
{
    struct erasure_bench *bench = state;
    struct answers answers = {0};
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && answers.count < ANSWERS_ALONE)
        status = answers_ask(bench, &answers, err);
    *ret_rate = rate_of(&answers);
    free(answers.ms);
    return status;
}
