/* One job, several consumers: real dispatcher, workers and one process per rank, over a scripted
 * storage. The slices of the ranks end to end are the batches of a single consumer, whoever dies. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "tests/component/preprocess_lab.h"
#include "tests/component/ranks_loop.h"
#include "tests/support/child.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SECTION(batch)                                   \
    "preprocess:\n"                                      \
    "  operators: [{op: json_fields, fields: [a, b]}]\n" \
    "  batch: {samples: 17, " batch "}\n"

struct run {
    struct lab *lab;
    char *path;
    struct ranks_disk *disk;
    uint32_t ranks;
    pid_t process[RANKS_MAX];
    struct msg_job_is audit;
};

static void start_rank(struct run *run, uint32_t rank)
{
    WEIR_AUTO_FREE char *number = weir_format("%u", rank);
    WEIR_AUTO_FREE char *count = weir_format("%u", run->ranks);
    const char *const argv[] = {
        "/proc/self/exe", lab_socket_dir(run->lab), run->path, number, count, NULL};
    run->process[rank] = child_start(argv, NULL, NULL);
}

static void begin(struct run *run, struct weir_test_postgres *postgres, uint32_t ranks)
{
    *run = (struct run){.ranks = ranks, .lab = lab_start(postgres, 2, -1)};
    run->path = weir_format("%s/ranks", lab_socket_dir(run->lab));
    int file = open(run->path, O_RDWR | O_CREAT, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, sizeof(struct ranks_disk)), 0);
    close(file);
    run->disk = ranks_map(run->path);
}

static void start_ranks(struct run *run)
{
    for (uint32_t rank = 0; rank < run->ranks; rank++)
        start_rank(run, rank);
}

static void start(struct run *run, struct weir_test_postgres *postgres, const char *section,
                  uint32_t ranks)
{
    begin(run, postgres, ranks);
    lab_open_ranked_job(run->lab, 1, section, 1, ranks);
    start_ranks(run);
}

/* kill -9 once the rank has taken so many steps, and a new process in its place. */
static void kill_rank(struct run *run, uint32_t rank, uint64_t steps)
{
    while (__atomic_load_n(&run->disk->rank[rank].steps, __ATOMIC_SEQ_CST) < steps)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    child_end(run->process[rank], SIGKILL);
    start_rank(run, rank);
}

/* Waits for all ranks, asks for the audit and ends the lab; the disk stays until forget(). */
static void finish(struct run *run, struct weir_test_postgres *postgres)
{
    for (uint32_t rank = 0; rank < run->ranks; rank++) {
        int status;
        assert_int_equal(waitpid(run->process[rank], &status, 0), run->process[rank]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    run->audit = lab_audit(run->lab, 1);
    lab_stop(run->lab);
    weir_test_postgres_reset(postgres);
}

static void forget(struct run *run)
{
    munmap(run->disk, sizeof(*run->disk));
    free(run->path);
}

static const struct ranks_history *result(const struct run *run, uint32_t rank)
{
    return &run->disk->rank[rank].result;
}

static const struct ranks_step *step_of(const struct run *run, uint32_t rank, uint64_t number)
{
    const struct ranks_history *history = result(run, rank);
    for (uint64_t i = 0; i < history->steps; i++) {
        if (history->step[i].number == number)
            return &history->step[i];
    }
    fail_msg("rank %u never got batch %lu", rank, number);
    return NULL;
}

/* Every batch of `whole` is the slices of `cut`, end to end. */
static void expect_slices(const struct run *cut, const struct run *whole)
{
    for (uint64_t i = 0; i < result(whole, 0)->steps; i++) {
        const struct ranks_step *batch = &result(whole, 0)->step[i];
        uint64_t next = 0;
        for (uint32_t rank = 0; rank < cut->ranks; rank++) {
            const struct ranks_step *slice = step_of(cut, rank, batch->number);
            assert_true(next + slice->samples <= batch->samples);
            assert_memory_equal(slice->ids, batch->ids + next, slice->samples * sizeof(uint64_t));
            next += slice->samples;
        }
        assert_int_equal(next, batch->samples);
    }
}

/* The totals that each rank was told of the batch are those of what all were handed. */
static void expect_totals(const struct run *run, uint64_t number)
{
    uint64_t samples = 0;
    double weight = 0.0;
    for (uint32_t rank = 0; rank < run->ranks; rank++) {
        samples += step_of(run, rank, number)->samples;
        weight += step_of(run, rank, number)->weight;
    }
    for (uint32_t rank = 0; rank < run->ranks; rank++) {
        assert_int_equal(step_of(run, rank, number)->global_samples, samples);
        assert_true(step_of(run, rank, number)->global_weight == weight);
    }
}

static void expect_steps(const struct run *run, uint64_t steps)
{
    for (uint32_t rank = 0; rank < run->ranks; rank++)
        assert_int_equal(result(run, rank)->steps, steps);
    for (uint64_t i = 0; i < steps; i++)
        expect_totals(run, result(run, 0)->step[i].number);
}

static void expect_number_order(const struct run *run)
{
    for (uint32_t rank = 0; rank < run->ranks; rank++) {
        for (uint64_t i = 0; i < result(run, rank)->steps; i++)
            assert_int_equal(result(run, rank)->step[i].number, i);
    }
}

static void expect_clean(const struct run *run, uint64_t set)
{
    assert_int_equal(run->audit.set, set);
    assert_int_equal(run->audit.delivered, set);
    assert_int_equal(run->audit.lost, 0);
    assert_int_equal(run->audit.duplicated, 0);
    assert_true(run->audit.kept);
}

static void run_whole(struct run *run, void *postgres, const char *section, uint32_t ranks)
{
    start(run, postgres, section, ranks);
    finish(run, postgres);
}

static void slices_end_to_end_are_the_batches_of_one_consumer(void **postgres)
{
    const char *const ORDERS[] = {SECTION("order: deterministic"), SECTION("order: relaxed")};
    for (size_t i = 0; i < WEIR_COUNT(ORDERS); i++) {
        struct run one, cut;
        run_whole(&one, *postgres, ORDERS[i], 1);
        for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks++) {
            run_whole(&cut, *postgres, ORDERS[i], ranks);
            expect_steps(&cut, 36);
            expect_slices(&cut, &one);
            expect_clean(&cut, LAB_SAMPLES);
            expect_number_order(&cut);
            forget(&cut);
        }
        forget(&one);
    }
}

static void every_rank_gets_equally_many_batches_whatever_becomes_of_the_last(void **postgres)
{
    static const struct {
        const char *section;
        uint64_t steps, set;
    } CASES[] = {
        {SECTION("last: short"), 36, LAB_SAMPLES},
        {SECTION("last: drop"), 35, 595},
        {SECTION("last: repeat"), 36, 612},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct run run;
        run_whole(&run, *postgres, CASES[i].section, 2 + i % 2);
        expect_steps(&run, CASES[i].steps);
        expect_clean(&run, CASES[i].set);
        forget(&run);
    }
}

static void a_killed_rank_restarts_the_group_at_the_common_state(void **postgres)
{
    const char *section = SECTION("order: deterministic");
    struct weir_rng rng;
    struct run one, cut;
    weir_rng_init(&rng, 5);
    run_whole(&one, *postgres, section, 1);
    for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks++) {
        start(&cut, *postgres, section, ranks);
        for (int kills = 0; kills < 3; kills++)
            kill_rank(&cut, (uint32_t)weir_rng_below(&rng, ranks), weir_rng_below(&rng, 30));
        finish(&cut, *postgres);
        expect_steps(&cut, 36);
        expect_number_order(&cut);
        expect_slices(&cut, &one);
        expect_clean(&cut, LAB_SAMPLES);
        forget(&cut);
    }
    forget(&one);
}

static void killed_workers_and_dispatchers_do_not_show(void **postgres)
{
    struct run one, cut;
    const char *section = SECTION("order: relaxed");
    run_whole(&one, *postgres, section, 1);
    start(&cut, *postgres, section, 2);
    lab_kill_worker(cut.lab, 0);
    lab_kill_dispatcher(cut.lab);
    kill_rank(&cut, 1, 7);
    lab_kill_dispatcher(cut.lab);
    finish(&cut, *postgres);
    expect_steps(&cut, 36);
    expect_slices(&cut, &one);
    expect_clean(&cut, LAB_SAMPLES);
    forget(&cut);
    forget(&one);
}

/* ---- a set that is drawn again for every epoch ---- */

enum {
    PART = LAB_SAMPLES / 2,
    PART_BATCHES = (PART + RANKS_BATCH - 1) / RANKS_BATCH,
    PARTED_STEPS = LAB_PARTS * PART_BATCHES,
};

static void start_parted(struct run *run, struct weir_test_postgres *postgres, uint32_t ranks)
{
    begin(run, postgres, ranks);
    lab_open_parted_job(run->lab, 1, SECTION("order: deterministic"), ranks);
}

static size_t row_of(uint64_t id)
{
    return (size_t)(id - LAB_FIRST_ID);
}

/* Every batch holds samples of its epoch's part alone; `gone` is in none. */
static void expect_parts(const struct run *run, uint64_t gone)
{
    for (uint32_t rank = 0; rank < run->ranks; rank++)
        for (uint64_t i = 0; i < result(run, rank)->steps; i++) {
            const struct ranks_step *step = &result(run, rank)->step[i];
            for (uint64_t k = 0; k < step->samples; k++) {
                uint32_t epoch = (uint32_t)(step->number / PART_BATCHES);
                assert_true(lab_in_part(row_of(step->ids[k]), epoch));
                assert_true(step->ids[k] != gone);
            }
        }
}

static void parts_of_epochs_are_cut_over_ranks_whoever_dies(void **postgres)
{
    struct run one, cut;
    start_parted(&one, *postgres, 1);
    start_ranks(&one);
    finish(&one, *postgres);
    expect_parts(&one, 0);
    start_parted(&cut, *postgres, RANKS_MAX);
    start_ranks(&cut);
    kill_rank(&cut, 1, 7);
    lab_kill_worker(cut.lab, 0);
    kill_rank(&cut, 2, PART_BATCHES + 5); /* in the second epoch */
    lab_kill_dispatcher(cut.lab);
    kill_rank(&cut, 0, 2 * PART_BATCHES + 3);
    finish(&cut, *postgres);
    expect_steps(&cut, PARTED_STEPS);
    expect_number_order(&cut);
    expect_slices(&cut, &one);
    expect_parts(&cut, 0);
    expect_clean(&cut, (uint64_t)LAB_PARTS * PART);
    forget(&cut);
    forget(&one);
}

static void an_erased_sample_is_a_hole_in_each_part_that_holds_it(void **postgres)
{
    struct run cut;
    uint64_t holes = 0, gone = LAB_FIRST_ID + 41;
    for (uint32_t epoch = 0; epoch < LAB_PARTS; epoch++)
        holes += lab_in_part(row_of(gone), epoch);
    assert_true(holes > 0);
    start_parted(&cut, *postgres, 2);
    lab_erase(cut.lab, gone);
    start_ranks(&cut);
    kill_rank(&cut, 1, 9);
    finish(&cut, *postgres);
    expect_steps(&cut, PARTED_STEPS);
    expect_parts(&cut, gone);
    assert_int_equal(cut.audit.set, (uint64_t)LAB_PARTS * PART);
    assert_int_equal(cut.audit.erased, holes);
    assert_int_equal(cut.audit.delivered, cut.audit.set - holes);
    assert_int_equal(cut.audit.lost + cut.audit.duplicated, 0);
    forget(&cut);
}

int main(int argc, char **argv)
{
    if (argc == 5) /* one of the ranks */
        return ranks_loop(argv[1], argv[2], (uint32_t)strtoul(argv[3], NULL, 10),
                          (uint32_t)strtoul(argv[4], NULL, 10));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_end_to_end_are_the_batches_of_one_consumer),
        cmocka_unit_test(every_rank_gets_equally_many_batches_whatever_becomes_of_the_last),
        cmocka_unit_test(a_killed_rank_restarts_the_group_at_the_common_state),
        cmocka_unit_test(killed_workers_and_dispatchers_do_not_show),
        cmocka_unit_test(parts_of_epochs_are_cut_over_ranks_whoever_dies),
        cmocka_unit_test(an_erased_sample_is_a_hole_in_each_part_that_holds_it),
    };
    return cmocka_run_group_tests_name("ranks", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
