/* The client library over real sockets, against a scripted platform. */
#include "core/base/clock.h"
#include "tests/component/scripted_platform.h"
#include "tests/support/consume.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weir/client.h>

#include <cmocka.h>

struct fixture {
    struct temp_dir dir;
    struct platform *platform;
    struct weir_client *client;
    int keep_digests;
};

static void start(struct fixture *fixture, struct platform_script script)
{
    *fixture = (struct fixture){0};
    temp_dir_make(&fixture->dir);
    script.socket_dir = fixture->dir.path;
    fixture->platform = platform_start(&script);
}

static void end(struct fixture *fixture)
{
    weir_client_close(fixture->client);
    platform_stop(fixture->platform);
    temp_dir_remove(&fixture->dir);
}

static enum weir_client_status open_at(struct fixture *fixture, const void *state, size_t size,
                                       struct weir_client_error *error)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    options.run = 5;
    options.socket_dir = fixture->dir.path;
    options.state = state;
    options.state_size = size;
    options.open_timeout_ms = TEST_PATIENCE_MS;
    options.digests = fixture->keep_digests;
    return weir_client_open(&options, &fixture->client, error);
}

static void open_client(struct fixture *fixture)
{
    struct weir_client_error error;
    if (open_at(fixture, NULL, 0, &error) != WEIR_CLIENT_OK)
        fail_msg("%s", error.text);
}

/* The next batch, or NULL at the end. */
static struct weir_batch *next(struct fixture *fixture)
{
    struct weir_batch *batch = NULL;
    struct weir_client_error error;
    enum weir_client_status status =
        weir_client_next(fixture->client, TEST_PATIENCE_MS, &batch, &error);
    if (status == WEIR_CLIENT_END)
        return NULL;
    if (status != WEIR_CLIENT_OK)
        fail_msg("%s", error.text);
    return batch;
}

static void take_rest(struct fixture *fixture, unsigned *seen)
{
    for (struct weir_batch *batch = next(fixture); batch != NULL; batch = next(fixture)) {
        for (size_t i = 0; i < batch->samples; i++)
            seen[batch->ids[i]]++;
        consume_batch(fixture->client, batch);
    }
}

static void commit_final(struct fixture *fixture)
{
    const void *state = NULL;
    size_t size = 0;
    struct weir_client_error error;
    (void)weir_client_state(fixture->client, &state, &size, NULL);
    if (weir_client_commit(fixture->client, state, size, 1, TEST_PATIENCE_MS, &error) !=
        WEIR_CLIENT_OK)
        fail_msg("%s", error.text);
}

static void wait_until(bool (*is_so)(const struct platform_view *), struct platform *platform)
{
    int64_t limit = weir_now_ms() + TEST_PATIENCE_MS;
    for (;;) {
        struct platform_view view = platform_look(platform);
        if (is_so(&view))
            return;
        assert_true(weir_now_ms() < limit);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static bool is_aligned(const void *at)
{
    return (uintptr_t)at % WEIR_BATCH_ALIGNMENT == 0;
}

static void every_batch_comes_once_in_order(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.samples = 101, .epochs = 2});
    open_client(&fixture);
    struct weir_client_info info;
    weir_client_info(fixture.client, &info);
    assert_int_equal(info.attempt, 1);
    assert_int_equal(info.batches_per_epoch, 51);
    assert_int_equal(info.fitted_size, strlen("fitted state"));
    uint64_t expected = 0;
    for (struct weir_batch *batch = next(&fixture); batch != NULL; batch = next(&fixture)) {
        assert_int_equal(batch->number, expected);
        assert_int_equal(batch->epoch, expected / 51);
        assert_int_equal(batch->samples, expected % 51 == 50 ? 1 : 2);
        assert_int_equal(batch->ids[0], expected % 51 * 2 + 1);
        expected++;
        consume_batch(fixture.client, batch);
    }
    assert_int_equal(expected, 102);
    commit_final(&fixture);
    assert_true(platform_look(fixture.platform).final);
    end(&fixture);
}

static void a_batch_is_laid_out_aligned_and_complete(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.samples = 9, .batch_samples = 9});
    open_client(&fixture);
    struct weir_batch *batch = next(&fixture);
    assert_non_null(batch);
    assert_true(is_aligned(batch->ids) && is_aligned(batch->labels) && is_aligned(batch->weights));
    assert_int_equal(batch->label_type, WEIR_LABELS_CLASS);
    assert_int_equal(batch->tensor_count, 2);
    const struct weir_tensor *x = &batch->tensors[0], *tokens = &batch->tensors[1];
    assert_string_equal(x->name, "x");
    assert_string_equal(tokens->name, "tokens");
    assert_true(is_aligned(x->data) && is_aligned(tokens->data) && is_aligned(tokens->offsets));
    assert_int_equal(x->rank, 2);
    assert_int_equal(x->shape[1], 2);
    assert_null(x->offsets);
    for (size_t i = 0; i < batch->samples; i++) {
        assert_true(((const float *)x->data)[2 * i] == (float)batch->ids[i]);
        assert_int_equal(batch->labels[i], batch->ids[i] % 2);
        assert_int_equal(tokens->offsets[i + 1] - tokens->offsets[i], batch->ids[i] % 5 + 1);
        assert_true(batch->weights[i] == 1.0f);
    }
    consume_batch(fixture.client, batch);
    end(&fixture);
}

static void copies_and_disorder_on_the_way_do_not_show(void **unused)
{
    (void)unused;
    struct fixture fixture;
    unsigned seen[202] = {0};
    start(&fixture, (struct platform_script){.samples = 201, .shuffles_sending = true});
    open_client(&fixture);
    struct weir_batch *first = next(&fixture);
    assert_int_equal(first->number, 0);
    seen[first->ids[0]]++;
    seen[first->ids[1]]++;
    consume_batch(fixture.client, first);
    take_rest(&fixture, seen);
    for (uint64_t id = 1; id <= 201; id++)
        assert_int_equal(seen[id], 1);
    struct weir_client_stats stats;
    weir_client_stats(fixture.client, &stats);
    assert_int_equal(stats.samples, 201);
    end(&fixture);
}

static void batches_of_holes_are_not_shown(void **unused)
{
    (void)unused;
    struct fixture fixture;
    unsigned seen[9] = {0};
    start(&fixture, (struct platform_script){.samples = 8, .is_empty_at = true});
    open_client(&fixture);
    take_rest(&fixture, seen);
    for (uint64_t id = 1; id <= 8; id++)
        assert_int_equal(seen[id], id == 3 || id == 4 ? 0 : 1);
    commit_final(&fixture);
    end(&fixture);
}

static void a_returning_loop_gets_what_its_state_lacks(void **unused)
{
    (void)unused;
    struct fixture fixture;
    unsigned seen[41] = {0};
    uint8_t saved[4096];
    const void *state = NULL;
    size_t size = 0;
    start(&fixture, (struct platform_script){.samples = 40});
    open_client(&fixture);
    for (int i = 0; i < 7; i++)
        consume_batch(fixture.client, next(&fixture));
    (void)weir_client_state(fixture.client, &state, &size, NULL);
    memcpy(saved, state, size);
    struct weir_client_error error;
    assert_int_equal(weir_client_commit(fixture.client, state, size, 0, TEST_PATIENCE_MS, &error),
                     WEIR_CLIENT_OK);
    consume_batch(fixture.client, next(&fixture)); /* consumed, never saved */
    struct weir_batch *in_hand = next(&fixture);
    assert_int_equal(in_hand->number, 8);
    weir_client_close(fixture.client);
    fixture.client = NULL;
    assert_int_equal(open_at(&fixture, saved, size, &error), WEIR_CLIENT_OK);
    struct weir_client_info info;
    weir_client_info(fixture.client, &info);
    assert_int_equal(info.attempt, 2);
    take_rest(&fixture, seen);
    for (uint64_t id = 1; id <= 40; id++)
        assert_int_equal(seen[id], id <= 14 ? 0 : 1);
    end(&fixture);
}

/* All of a run, which is left after `leave` batches that no state contains, and gone on with; 0: it is not. */
static void run_digested(struct platform_script script, int leave, struct weir_client_stats *stats)
{
    struct fixture fixture;
    unsigned seen[41] = {0};
    uint8_t saved[4096];
    const void *state = NULL;
    size_t size = 0;
    start(&fixture, script);
    fixture.keep_digests = 1;
    open_client(&fixture);
    for (int i = 0; i < 5; i++)
        consume_batch(fixture.client, next(&fixture));
    (void)weir_client_state(fixture.client, &state, &size, NULL);
    memcpy(saved, state, size);
    for (int i = 0; i < leave; i++)
        consume_batch(fixture.client, next(&fixture));
    if (leave > 0) {
        struct weir_client_error error;
        weir_client_close(fixture.client);
        assert_int_equal(open_at(&fixture, saved, size, &error), WEIR_CLIENT_OK);
    }
    take_rest(&fixture, seen);
    weir_client_stats(fixture.client, stats);
    end(&fixture);
}

static void digests_are_of_the_batches_that_a_state_contains(void **unused)
{
    (void)unused;
    const struct platform_script script = {.samples = 40},
                                 relaxed = {.samples = 40, .relaxed = true};
    struct weir_client_stats whole, resumed, disordered;
    run_digested(script, 0, &whole);
    run_digested(script, 3, &resumed);
    run_digested(relaxed, 2, &disordered);
    assert_int_equal(whole.digests, 20);
    assert_true(resumed.digests == 20 && disordered.digests == 20);
    assert_string_equal(resumed.digest, whole.digest);
    assert_string_equal(disordered.digest, whole.digest);
}

static void batches_have_no_digest_where_none_is_asked_for(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_client_stats stats;
    start(&fixture, (struct platform_script){.samples = 4});
    open_client(&fixture);
    struct weir_batch *batch = next(&fixture);
    assert_null(batch->digest);
    consume_batch(fixture.client, batch);
    weir_client_stats(fixture.client, &stats);
    assert_true(stats.digests == 0 && stats.digest_ns == 0);
    end(&fixture);
}

static bool has_named_epoch_1(const struct platform_view *view)
{
    return view->hold_epoch >= 1;
}

static void an_erased_sample_in_a_waiting_batch_is_never_shown(void **unused)
{
    (void)unused;
    struct fixture fixture;
    unsigned seen[41] = {0};
    start(&fixture, (struct platform_script){.samples = 40});
    open_client(&fixture);
    struct weir_batch *first = next(&fixture);
    struct weir_client_stats stats = {0};
    while (stats.waiting < 19) /* all the others are prefetched */
        weir_client_stats(fixture.client, &stats);
    platform_erase(fixture.platform, 30);
    wait_until(has_named_epoch_1, fixture.platform);
    consume_batch(fixture.client, first);
    take_rest(&fixture, seen);
    assert_int_equal(seen[30], 0);
    assert_int_equal(seen[29], 1);
    commit_final(&fixture);
    end(&fixture);
}

static bool has_named_nothing(const struct platform_view *view)
{
    return view->holds >= 3 && view->hold_epoch == 0;
}

static void an_epoch_waits_for_the_loop_to_let_go(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.samples = 40});
    open_client(&fixture);
    struct weir_batch *batch = next(&fixture);
    platform_erase(fixture.platform, batch->ids[0]);
    wait_until(has_named_nothing, fixture.platform);
    consume_batch(fixture.client, batch);
    wait_until(has_named_epoch_1, fixture.platform);
    end(&fixture);
}

static void nothing_is_shown_without_a_use_lease(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_batch *batch = NULL;
    struct weir_client_error error;
    start(&fixture, (struct platform_script){.samples = 400});
    open_client(&fixture);
    consume_batch(fixture.client, next(&fixture));
    platform_silence_storage(fixture.platform, true);
    enum weir_client_status status = WEIR_CLIENT_OK;
    for (int i = 0; i < 200 && status == WEIR_CLIENT_OK; i++) {
        status = weir_client_next(fixture.client, 600, &batch, &error);
        if (status == WEIR_CLIENT_OK) {
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* a step of training */
            consume_batch(fixture.client, batch);
        }
    }
    assert_int_equal(status, WEIR_CLIENT_TIMEOUT);
    assert_non_null(strstr(error.text, "storage does not answer"));
    platform_silence_storage(fixture.platform, false);
    batch = next(&fixture);
    assert_non_null(batch);
    consume_batch(fixture.client, batch);
    end(&fixture);
}

static void a_superseded_loop_is_told_to_stop(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_batch *batch = NULL;
    struct weir_client_error error;
    start(&fixture, (struct platform_script){.samples = 4000});
    open_client(&fixture);
    platform_pause_worker(fixture.platform, true);
    platform_supersede(fixture.platform);
    enum weir_client_status status = WEIR_CLIENT_OK;
    while (status == WEIR_CLIENT_OK) {
        status = weir_client_next(fixture.client, TEST_PATIENCE_MS, &batch, &error);
        if (status == WEIR_CLIENT_OK)
            consume_batch(fixture.client, batch);
    }
    assert_int_equal(status, WEIR_CLIENT_STALE);
    assert_non_null(strstr(error.text, "later session"));
    end(&fixture);
}

/* A batch is consumed, and then the platform is disturbed. */
static void assert_no_commit(void (*disturb)(struct platform *), enum weir_client_status expected,
                             const char *words)
{
    struct fixture fixture;
    struct weir_client_error error;
    const void *state = NULL;
    size_t size = 0;
    start(&fixture, (struct platform_script){.samples = 40});
    open_client(&fixture);
    consume_batch(fixture.client, next(&fixture));
    (void)weir_client_state(fixture.client, &state, &size, NULL);
    disturb(fixture.platform);
    assert_int_equal(weir_client_commit(fixture.client, state, size, 0, TEST_PATIENCE_MS, &error),
                     expected);
    assert_non_null(strstr(error.text, words));
    end(&fixture);
}

/* The dispatcher may hear of the commit before this loop hears of the rank that has returned. */
static void a_commit_of_a_group_that_begins_again_says_so(void **unused)
{
    (void)unused;
    assert_no_commit(platform_regroup, WEIR_CLIENT_RESTART, "a rank has returned");
}

static void a_commit_that_nobody_has_confirmed_is_no_success(void **unused)
{
    (void)unused;
    assert_no_commit(platform_confuse, WEIR_CLIENT_UNSUPPORTED, "which is no answer to it");
}

static void the_longest_wait_there_is_has_no_end(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_batch *batch = NULL;
    struct weir_client_error error;
    start(&fixture, (struct platform_script){.samples = 40});
    open_client(&fixture);
    assert_int_equal(weir_client_next(fixture.client, INT64_MAX, &batch, &error), WEIR_CLIENT_OK);
    consume_batch(fixture.client, batch);
    end(&fixture);
}

static void an_unknown_run_is_refused_by_name(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_client_error error;
    start(&fixture, (struct platform_script){.samples = 40});
    platform_forget_run(fixture.platform);
    assert_int_equal(open_at(&fixture, NULL, 0, &error), WEIR_CLIENT_NOT_FOUND);
    assert_string_equal(error.text, "job 5 is not known");
    end(&fixture);
}

static void a_platform_that_is_not_there_is_named(void **unused)
{
    (void)unused;
    struct weir_client *client = NULL;
    struct weir_client_error error;
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    options.run = 5;
    options.socket_dir = "/nonexistent";
    options.open_timeout_ms = 50;
    assert_int_equal(weir_client_open(&options, &client, &error), WEIR_CLIENT_UNAVAILABLE);
    assert_non_null(strstr(error.text, "/nonexistent/dispatcher.sock"));
    options.socket_dir = NULL;
    unsetenv("WEIR_SOCKET_DIR");
    assert_int_equal(weir_client_open(&options, &client, &error), WEIR_CLIENT_INVALID);
    assert_non_null(strstr(error.text, "WEIR_SOCKET_DIR"));
    options.run = 0;
    setenv("WEIR_RUN", "seven", 1);
    assert_int_equal(weir_client_open(&options, &client, &error), WEIR_CLIENT_INVALID);
    assert_non_null(strstr(error.text, "'seven'"));
    unsetenv("WEIR_RUN");
}

static void what_is_in_hand_is_bounded(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_batch *batch = NULL;
    struct weir_client_error error;
    start(&fixture, (struct platform_script){.samples = 400});
    open_client(&fixture);
    for (int i = 0; i < WEIR_BATCHES_HELD_MAX; i++)
        assert_non_null(next(&fixture));
    assert_int_equal(weir_client_next(fixture.client, 0, &batch, &error), WEIR_CLIENT_LIMIT);
    end(&fixture); /* closing frees what is in hand */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_batch_comes_once_in_order),
        cmocka_unit_test(a_batch_is_laid_out_aligned_and_complete),
        cmocka_unit_test(copies_and_disorder_on_the_way_do_not_show),
        cmocka_unit_test(batches_of_holes_are_not_shown),
        cmocka_unit_test(a_returning_loop_gets_what_its_state_lacks),
        cmocka_unit_test(digests_are_of_the_batches_that_a_state_contains),
        cmocka_unit_test(batches_have_no_digest_where_none_is_asked_for),
        cmocka_unit_test(an_erased_sample_in_a_waiting_batch_is_never_shown),
        cmocka_unit_test(an_epoch_waits_for_the_loop_to_let_go),
        cmocka_unit_test(nothing_is_shown_without_a_use_lease),
        cmocka_unit_test(a_superseded_loop_is_told_to_stop),
        cmocka_unit_test(a_commit_of_a_group_that_begins_again_says_so),
        cmocka_unit_test(a_commit_that_nobody_has_confirmed_is_no_success),
        cmocka_unit_test(the_longest_wait_there_is_has_no_end),
        cmocka_unit_test(an_unknown_run_is_refused_by_name),
        cmocka_unit_test(a_platform_that_is_not_there_is_named),
        cmocka_unit_test(what_is_in_hand_is_bounded),
    };
    return cmocka_run_group_tests_name("trainer_client", tests, NULL, NULL);
}
