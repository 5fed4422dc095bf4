/* A platform, people with samples, and ways to erase them: shared by the figures of the erasure benchmark. */
#ifndef BENCHMARKS_ERASURE_BENCH_H
#define BENCHMARKS_ERASURE_BENCH_H

#include "benchmarks/harness.h"
#include "benchmarks/rig.h"
#include "benchmarks/table.h"

enum {
    LINES = 100000,
    LINE_BYTES = 200,
    CROWD = 1000,
};

/* Times that storage took to answer. */
struct answers {
    double *ms;
    size_t count, capacity;
};

struct erasure_bench {
    const char *directory; /* borrowed */
    size_t lines;          /* of a dataset */
    struct rig *rig;
    uint64_t datasets;       /* made so far */
    struct table *table;     /* of the script; NULL: not made yet */
    struct answers *answers; /* asked for while erasures are waited for; NULL: nobody asks */
    uint64_t erasure_epoch;  /* newest one known to the asking holder */
};

/* Every line is one person's; lines of a dataset have names of their own, so that nothing that was erased is kept
 * out of the next one. The first half of the lines is one person's when `owner` is asked for. */
struct people {
    uint64_t number;
    bool has_owner;
};
/* Writes a file of lines below the scratch directory; returns its folder, the caller's to free. */
enum weir_status people_write(struct erasure_bench *bench, const struct people *people,
                              char **ret_folder, struct weir_error *err) WEIR_MUST_USE;
/* "person-SET-LINE", as the line has it. */
char *people_name(const struct people *people, size_t line);

/* figures_answers.c: asks once. */
enum weir_status answers_ask(struct erasure_bench *bench, struct answers *answers,
                             struct weir_error *err) WEIR_MUST_USE;

/* figures_samples.c, figures_answers.c, figures_crowd.c, plain.c */
bench_side_fn answer_while_erasing, answer_alone, answer_longest, answer_limit;
bench_side_fn erase_half, erase_crowd, erase_list;
bench_side_fn overwrite_half;
enum weir_status prepare_plain(void *state, struct weir_error *err);

/* Registers the people as a dataset that Weir copies. */
enum weir_status people_register(struct erasure_bench *bench, const struct people *people,
                                 struct weir_error *err) WEIR_MUST_USE;
/* One request of these people, until it is verified. */
enum weir_status people_erase(struct erasure_bench *bench, const char *const *names, size_t count,
                              uint64_t *ret_samples, struct weir_error *err) WEIR_MUST_USE;
/* Waits until these erasures, at most CROWD, are verified; then nothing of them was found. */
enum weir_status await_verified(struct erasure_bench *bench, const struct weir_u64s *numbers,
                                struct weir_error *err) WEIR_MUST_USE;

#endif
