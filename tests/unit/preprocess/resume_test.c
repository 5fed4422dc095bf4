/* Going on in the middle of an epoch (C8): which samples a group has is worked out from its number, in whatever order,
 * without going through the set. What is touched of the file is counted in pages.
 *
 *     resume_test                    a set of 4 M samples
 *     resume_test --samples COUNT    of as many: 100 M are 800 MB of disk */
#include "preprocess/plan/plan.h"

#include "core/base/memory.h"
#include "core/wire/position.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    SAMPLES = 4000000,
    PIECE = 1 << 16,
    BATCH = 8,
    EPOCHS = 3,
    OTHER_PAGES = 64,  /* of stack and code, that are touched for the first time */
    FAULT_AROUND = 16, /* pages that the kernel maps for one that is touched */
};

static uint64_t samples = SAMPLES;

static uint64_t id_of(uint64_t index)
{
    return UINT64_C(1) << 44 | 3 * index;
}

static void write_set(const char *path, char digest[WEIR_DIGEST_TEXT_MAX])
{
    static uint64_t ids[PIECE];
    struct weir_error err;
    struct weir_digest sealed;
    WEIR_AUTO(weir_sample_set_writer) writer = NULL;
    assert_int_equal(weir_sample_set_begin(path, samples, NULL, &writer, &err), WEIR_OK);
    for (uint64_t first = 0; first < samples; first += PIECE) {
        size_t count = samples - first < PIECE ? samples - first : PIECE;
        for (size_t i = 0; i < count; i++)
            ids[i] = id_of(first + i);
        assert_int_equal(weir_sample_set_add(writer, ids, count, &err), WEIR_OK);
    }
    assert_int_equal(weir_sample_set_finish(writer, &sealed, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_publish(writer, path, &err), WEIR_OK);
    weir_digest_text(&sealed, digest);
}

static void open_plan(const char *path, const char *digest, const char *batch,
                      struct preprocess_plan *plan)
{
    struct weir_error err = {0};
    WEIR_AUTO_FREE char *config =
        weir_format("preprocess:\n  operators: [{op: json_fields, fields: [a]}]\n"
                    "  batch: {samples: %d, group: 1, %s}\n",
                    BATCH, batch);
    const struct preprocess_order_form form = {
        .file = "p.yaml",
        .config = weir_bytes_of(config),
        .set_path = path,
        .set_digest = digest,
        .epochs = EPOCHS,
        .seed = 7,
        .mode = "train",
        .ranks = 1,
    };
    if (preprocess_plan_open(&form, plan, &err) != WEIR_OK)
        fail_msg("%s", err.text);
}

static long faults(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt + usage.ru_majflt;
}

/* The ids of a group, as whoever makes it reads them from a set that nothing is in memory of. */
static long read_group(const struct preprocess_plan *plan, uint64_t group, uint64_t ids[BATCH])
{
    uint64_t indices[BATCH];
    assert_int_equal(madvise(plan->set.map, plan->set.map_bytes, MADV_DONTNEED), 0);
    long before = faults();
    preprocess_plan_group(plan, group, indices);
    for (size_t i = 0; i < BATCH; i++)
        ids[i] = plan->set.ids[indices[i]];
    return faults() - before;
}

static void expect_groups(const struct preprocess_plan *plan)
{
    uint64_t groups = preprocess_groups(&plan->geometry), ids[BATCH], again[BATCH];
    long whole = (long)(plan->set.map_bytes / (uint64_t)sysconf(_SC_PAGESIZE) / FAULT_AROUND);
    assert_true(whole > 4 * (BATCH + OTHER_PAGES)); /* or nothing would be shown */
    for (uint64_t eighth = 0; eighth <= 8; eighth++) {
        uint64_t group = (groups - 1) * eighth / 8;
        long touched = read_group(plan, group, ids);
        if (touched > BATCH + OTHER_PAGES)
            fail_msg("group %lu of %lu: %ld pages touched, expected at most %d", group, groups,
                     touched, BATCH + OTHER_PAGES);
        (void)read_group(plan, group, again);
        assert_memory_equal(ids, again, sizeof(ids));
    }
}

static void a_group_is_worked_out_without_going_through_the_set(void **state)
{
    static const char *const ORDERS[] = {"shuffle: full", "shuffle: windowed, window: 10000",
                                         "shuffle: none"};
    struct temp_dir dir;
    char digest[WEIR_DIGEST_TEXT_MAX];
    (void)state;
    temp_dir_make(&dir);
    WEIR_AUTO_FREE char *path = weir_strdup(temp_path(&dir, "a.set"));
    write_set(path, digest);
    for (size_t i = 0; i < WEIR_COUNT(ORDERS); i++) {
        struct preprocess_plan plan;
        open_plan(path, digest, ORDERS[i], &plan);
        expect_groups(&plan);
        preprocess_plan_close(&plan);
    }
    temp_dir_remove(&dir);
}

/* One batch does not come, all others do, as far as a consumer may run ahead: the state that it commits stays small. */
static void a_straggler_does_not_make_the_position_grow(void **state)
{
    (void)state;
    uint64_t batches = samples * EPOCHS / BATCH, straggler = batches / 2;
    struct weir_position position = {.oldest = straggler}, resumed = {0};
    struct weir_error err;
    size_t largest = 0;
    for (uint64_t ahead = 1; ahead < WEIR_AHEAD_MAX; ahead++) {
        WEIR_AUTO_BUF packed = {0};
        assert_true(weir_position_consume(&position, straggler + ahead));
        weir_position_pack(&position, &packed);
        largest = packed.size > largest ? packed.size : largest;
        assert_int_equal(weir_position_unpack(weir_buf_view(&packed), &resumed, &err), WEIR_OK);
    }
    print_message("a position of %d batches behind a straggler: %zu bytes\n", WEIR_AHEAD_MAX,
                  largest);
    assert_in_range(largest, 1, WEIR_POSITION_BYTES_MAX);
    assert_int_equal(weir_position_batches(&resumed), straggler + WEIR_AHEAD_MAX - 1);
    assert_false(weir_position_consumed(&resumed, straggler));
    assert_true(weir_position_consume(&resumed, straggler));
    assert_int_equal(resumed.oldest, straggler + WEIR_AHEAD_MAX);
    weir_position_fini(&position);
    weir_position_fini(&resumed);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--samples") == 0)
        samples = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_worked_out_without_going_through_the_set),
        cmocka_unit_test(a_straggler_does_not_make_the_position_grow),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
