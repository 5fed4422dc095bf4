/* A hundred million candidates: what a choice costs grows no faster than they do, and the selector
 * stays small. The real program, measured by what the kernel says of it; slow. */
#include "core/base/file.h"
#include "tests/component/selector_lab.h"
#include "tests/support/process_memory.h"

#include <stdio.h>

enum {
    MILLION = 1000000,
    LONG_MS = 600 * 1000,
    MEMORY_MAX_KB = 64 * 1024,
};

/* Tenfold from one to the next. */
static const uint32_t CROWDS[] = {MILLION, 10 * MILLION, 100 * MILLION};

/* Ticks that the process has computed for. */
static long computed(pid_t pid)
{
    WEIR_AUTO_FREE char *path = weir_format("/proc/%d/stat", (int)pid);
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    long user = 0, kernel = 0;
    assert_int_equal(weir_file_read(path, 1 << 16, &text, &err), WEIR_OK);
    const char *rest = strrchr(weir_buf_text(&text), ')');
    assert_non_null(rest);
    for (int field = 0; field < 12;
         field++) /* utime and stime are the 12th and 13th after the name */
        rest = strchr(rest + 1, ' ');
    user = strtol(rest, (char **)(void *)&rest, 10);
    kernel = strtol(rest, NULL, 10);
    return user + kernel;
}

static void select_patiently(struct fixture *fixture, uint64_t trigger)
{
    const struct msg_select select = {
        .pipeline = "quick", .trigger = trigger, .positions = {&trigger, 1}};
    int64_t until = weir_now_ms() + LONG_MS;
    fixture->done = false;
    weir_rpc_call(fixture->peer, MSG_select, &select, LONG_MS, lab_on_done, fixture);
    while (!fixture->done && weir_now_ms() < until)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    assert_true(fixture->done);
    assert_int_equal(fixture->status, WEIR_OK);
}

static void a_hundred_million_cost_a_hundred_times_one(void **state)
{
    struct fixture *fixture = *state;
    long cost[WEIR_COUNT(CROWDS)] = {0};
    selector_close(fixture->selector);
    weir_rpc_server_close(fixture->server);
    pid_t pid = lab_spawn(fixture, WEIR_BIN_DIR, "");
    for (uint32_t i = 0, there = 0; i < WEIR_COUNT(CROWDS); there = CROWDS[i++]) {
        fixture->script.changes[fixture->script.change_count++] =
            (struct change){.kind = WEIR_CHANGE_ADDED,
                            .first = weir_sample_id(DATASET, 0, 0) + there,
                            .count = CROWDS[i] - there};
        if (i == 0)
            assert_int_equal(lab_open_pipeline(fixture,
                                               "{policy: random, tail_triggers: all, ratio: 0.1}",
                                               false),
                             WEIR_OK);
        long before = computed(pid);
        select_patiently(fixture, i + 1);
        cost[i] = computed(pid) - before;
        assert_int_equal(fixture->candidates, CROWDS[i]);
        assert_int_equal(fixture->samples, CROWDS[i] / 10);
    }
    long peak = process_memory_kb(pid, "VmHWM:");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    weir_rpc_peer_close(fixture->peer);
    lab_start(fixture);
    printf("ticks for 1, 10 and 100 million: %ld, %ld, %ld; at most %ld kB\n", cost[0], cost[1],
           cost[2], peak);
    assert_true(cost[2] <= 10 * cost[1] * 3 / 2 + 10);
    assert_true(peak <= MEMORY_MAX_KB);
    struct weir_sample_set set = {0};
    struct weir_error err;
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    assert_int_equal(set.count, 10 * MILLION);
    weir_sample_set_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hundred_million_cost_a_hundred_times_one, lab_setup,
                                        lab_teardown),
    };
    return cmocka_run_group_tests(tests, lab_setup_group, lab_teardown_group);
}
