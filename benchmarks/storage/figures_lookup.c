/* Figures about finding the samples of a data subject. */
#include "benchmarks/storage/bench.h"
#include "core/base/clock.h"
#include "core/base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOKUPS = 100, NUMBER_CHARS = 24, SEED = 20260104 };

enum weir_status prepare_lookups(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    struct msg_dataset_is dataset;
    enum weir_status status = need_records(bench, err);
    const struct registration what = {&bench->records, SUBJECTS_YAML, bench->records.samples};
    return status == WEIR_OK ? register_dataset(bench, &what, &bench->subjects_name, &dataset, err)
                             : status;
}

static enum weir_status look_up(struct storage_bench *bench, uint64_t subject,
                                struct weir_error *err)
{
    char text[NUMBER_CHARS];
    const char *const subjects[] = {text};
    const struct msg_find find = {.dataset = bench->subjects_name, .subjects = {subjects, 1}};
    const struct rig_call call = {RIG_STORAGE, MSG_find, &find, MSG_found};
    struct msg_found found;
    snprintf(text, sizeof(text), "%" PRIu64, subject);
    enum weir_status status = rig_request(bench->rig, &call, &found, err);
    if (status == WEIR_OK && found.ids.count == 0)
        status = weir_fail(err, WEIR_INTERNAL, "subject %s: no samples found", text);
    return status;
}

enum weir_status look_up_subjects(void *state, double *ret_rate, struct weir_error *err)
{
    struct storage_bench *bench = state;
    struct weir_rng rng;
    enum weir_status status = WEIR_OK;
    weir_rng_init(&rng, SEED);
    int64_t started = weir_now_ns();
    for (int i = 0; status == WEIR_OK && i < LOOKUPS; i++) {
        size_t sample = weir_rng_below(&rng, bench->records.samples);
        status = look_up(bench, source_subject(&bench->records, sample), err);
    }
    *ret_rate = LOOKUPS * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

enum weir_status five_milliseconds(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1000.0 / 5;
    return WEIR_OK;
}
