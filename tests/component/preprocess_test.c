/* Dispatcher and workers as real processes, a real consumer, a scripted storage: every sample of the
 * set arrives once per epoch, whatever dies, and what cannot arrive is a counted hole. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/component/preprocess_seen.h"
#include "tests/support/consume.h"
#include "tests/support/process_memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { BATCH = 16 };

static int64_t stall_ms = 1000;

static const char JSON[] = "preprocess:\n"
                           "  operators: [{op: json_fields, fields: [a, b]}]\n"
                           "  batch: {samples: 16, order: deterministic}\n";
static const char RELAXED[] = "preprocess:\n"
                              "  operators: [{op: json_fields, fields: [a, b]}]\n"
                              "  batch: {samples: 16, order: relaxed}\n";
static const char FITTED[] = "preprocess:\n"
                             "  operators: [{op: json_fields, fields: [a, b]}, {op: standardize}]\n"
                             "  batch: {samples: 16}\n";

static const char FEW_WORDS[] =
    "preprocess:\n"
    "  operators: [{op: json_fields, fields: [a]}, {op: filter, max: 9}, {op: cast, to: i32},\n"
    "              {op: vocab, size: 100}]\n"
    "  batch: {samples: 16}\n";
static const char MORE_WORDS[] =
    "preprocess:\n"
    "  operators: [{op: json_fields, fields: [a]}, {op: filter, max: 19}, {op: cast, to: i32},\n"
    "              {op: vocab, size: 100}]\n"
    "  batch: {samples: 16}\n";

/* Batches of 512 kB: 16 samples of 2 x 4000 numbers. */
enum { CLASSES = 4000 };
static const char WIDE[] = "preprocess:\n"
                           "  operators: [{op: json_fields, fields: [a, b]}, {op: cast, to: i32},\n"
                           "              {op: one_hot, classes: 4000}]\n"
                           "  batch: {samples: 16}\n";

static void any_number_of_workers_delivers_the_same_sequence(void **state)
{
    struct weir_digest one = seen_whole_run(*state, 1, JSON, 2, true);
    struct weir_digest three = seen_whole_run(*state, 3, JSON, 2, true);
    assert_memory_equal(&one, &three, sizeof(one));
}

static void relaxed_order_delivers_everything_too(void **state)
{
    (void)seen_whole_run(*state, 2, RELAXED, 2, true);
}

static void a_fit_does_not_depend_on_who_made_it(void **state)
{
    struct weir_digest one = seen_whole_run(*state, 1, FITTED, 1, false);
    struct weir_digest three = seen_whole_run(*state, 3, FITTED, 1, false);
    assert_memory_equal(&one, &three, sizeof(one));
}

/* Workers plan a job again once it is fitted: what they tell of it goes on. */
static void what_a_fit_has_cost_is_told_on(void **state)
{
    /* Two fields of each sample: for the fit, for the epoch, and standardized for the epoch. */
    enum { MADE_BYTES = LAB_SAMPLES * 2 * sizeof(float) * 3 };
    uint64_t bytes = 0;
    struct lab *lab = lab_start(*state, 1, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, FITTED, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_true(seen_take(&seen, client, UINT64_MAX, false));
    for (int64_t deadline_ms = weir_now_ms() + TEST_PATIENCE_MS; bytes < MADE_BYTES;
         (void)lab_made(lab, 1, &bytes))
        assert_true(weir_now_ms() < deadline_ms);
    seen_commit(client, true);
    weir_client_close(client);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

static void wait_for_leases(struct lab *lab, int worker, int64_t patience_ms, bool wanted)
{
    int64_t deadline_ms = weir_now_ms() + patience_ms;
    while ((lab_leases(lab, worker) > 0) != wanted)
        assert_true(weir_now_ms() < deadline_ms);
}

/* Both workers have parts of the fit when nothing can be read yet. One stands still with its part,
 * the other makes what it has; then that one dies, and the dispatcher with all that was told to it,
 * and the first one goes on. */
static void a_fit_is_the_same_whatever_dies(void **state)
{
    enum { FOR_EVER_MS = 1 << 30 };
    struct weir_digest undisturbed = seen_whole_run(*state, 1, FITTED, 1, false);
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen seen = {.order = weir_hasher_new()};
    uint64_t bytes = 0;
    lab_slow_storage(lab, FOR_EVER_MS);
    lab_open_job(lab, 1, FITTED, 1);
    wait_for_leases(lab, 0, TEST_PATIENCE_MS, true);
    wait_for_leases(lab, 1, TEST_PATIENCE_MS, true);
    lab_freeze_worker(lab, 1);
    lab_slow_storage(lab, 0);
    for (int64_t deadline_ms = weir_now_ms() + TEST_PATIENCE_MS; bytes == 0;
         (void)lab_made(lab, 1, &bytes))
        assert_true(weir_now_ms() < deadline_ms);
    lab_kill_worker(lab, 0);
    lab_kill_dispatcher(lab);
    lab_thaw_worker(lab, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_true(seen_take(&seen, client, UINT64_MAX, false));
    seen_commit(client, true);
    weir_client_close(client);
    struct weir_digest digest = weir_hasher_digest(seen.order);
    assert_memory_equal(&digest, &undisturbed, sizeof(digest));
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* Runs a job to its end: the number that the vocabulary gave to each sample, 0: it never came. */
static void number_samples(struct lab *lab, uint64_t job, int32_t numbers[LAB_SAMPLES],
                           struct weir_buf *fitted)
{
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    struct weir_client *client = lab_consume(lab, job, NULL, 0);
    struct weir_client_info info;
    weir_client_info(client, &info);
    weir_buf_append(fitted, info.fitted, info.fitted_size);
    while (weir_client_next(client, TEST_PATIENCE_MS, &batch, &error) == WEIR_CLIENT_OK) {
        const int32_t *x = batch->tensors[0].data;
        for (size_t i = 0; i < batch->samples; i++)
            numbers[batch->ids[i] - LAB_FIRST_ID] = x[i];
        consume_batch(client, batch);
    }
    seen_commit(client, true);
    weir_client_close(client);
}

/* The second job is told what the first one's model was made with; its dispatcher dies before it has
 * fitted anything. */
static void a_vocabulary_goes_on_from_that_of_a_model(void **state)
{
    struct lab *lab = lab_start(*state, 2, -1);
    int32_t before[LAB_SAMPLES] = {0}, after[LAB_SAMPLES] = {0};
    unsigned new_numbers = 0;
    WEIR_AUTO_BUF fitted = {0};
    WEIR_AUTO_BUF grown = {0};
    lab_open_job(lab, 1, FEW_WORDS, 1);
    number_samples(lab, 1, before, &fitted);
    lab_open_job_from(lab, 2, MORE_WORDS, weir_buf_view(&fitted));
    lab_kill_dispatcher(lab);
    number_samples(lab, 2, after, &grown);
    assert_true(grown.size > fitted.size);
    for (size_t i = 0; i < LAB_SAMPLES; i++) {
        assert_int_equal(before[i] > 0, i < 10);
        assert_int_equal(after[i] > 0, i < 20);
        if (i < 10)
            assert_int_equal(after[i], before[i]);
        else if (i < 20)
            new_numbers |= 1u << after[i];
    }
    assert_int_equal(new_numbers, 0x1ff800); /* 11 … 20, once each */
    struct msg_job_is audit = lab_audit(lab, 2);
    seen_clean(&audit, LAB_SAMPLES);
    assert_int_equal(audit.delivered, 20);
    assert_int_equal(audit.filtered, LAB_SAMPLES - 20);
    lab_stop(lab);
}

static const char *hex_of(const void *bytes, size_t size, struct weir_buf *out)
{
    weir_buf_clear(out);
    for (size_t i = 0; i < size; i++)
        weir_buf_printf(out, "%02x", ((const uint8_t *)bytes)[i]);
    return weir_buf_text(out);
}

/* Commits, and asserts that the dispatcher has stored the consumer's state, the bitmap of batches included. */
static void commit_and_compare(struct weir_test_postgres *postgres, struct weir_client *client)
{
    const void *at;
    size_t size;
    WEIR_AUTO_BUF hex = {0};
    seen_commit(client, false);
    (void)weir_client_state(client, &at, &size, NULL);
    WEIR_AUTO_FREE char *sql =
        weir_format("DO $$ BEGIN ASSERT (SELECT encode(committed, 'hex') FROM preprocess.rank) = "
                    "'%s'; END $$",
                    hex_of(at, size, &hex));
    weir_test_postgres_sql(postgres, sql);
}

static void in_relaxed_order_bitmaps_agree_whatever_dies(void **state)
{
    struct lab *lab = lab_start(*state, 3, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, RELAXED, 2);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    for (int i = 0; i < 6; i++) {
        assert_false(seen_take(&seen, client, 7, true));
        if (i % 2 == 0)
            lab_kill_worker(lab, i / 2);
        else
            lab_kill_dispatcher(lab);
        commit_and_compare(*state, client);
    }
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    commit_and_compare(*state, client);
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 2);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* The same bytes in the same order as of a run that nothing disturbs. */
static void killed_workers_and_dispatchers_change_nothing(void **state)
{
    struct weir_digest undisturbed = seen_whole_run(*state, 1, JSON, 3, true);
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, JSON, 3);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    for (int i = 0; i < 6; i++) {
        assert_false(seen_take(&seen, client, 10, true));
        if (i % 3 == 2)
            lab_kill_dispatcher(lab);
        else
            lab_kill_worker(lab, i % 2);
    }
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 3);
    struct weir_digest digest = weir_hasher_digest(seen.order);
    assert_memory_equal(&digest, &undisturbed, sizeof(digest));
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, (uint64_t)3 * LAB_SAMPLES);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* One stands still for longer than its leases live, and comes back to find others doing its work; one is told to end,
 * which others know at once; one comes late. */
static void workers_that_hang_leave_or_join_do_not_show(void **state)
{
    enum { FEW_BATCHES = 4096 /* bytes of the window */, SOON_MS = 5000 /* silence is 10 s */ };
    struct weir_digest undisturbed = seen_whole_run(*state, 1, JSON, 3, true);
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, JSON, 3);
    struct weir_client *client = lab_consume_within(lab, 1, NULL, 0, FEW_BATCHES);
    assert_false(seen_take(&seen, client, 10, true));
    wait_for_leases(lab, 0, TEST_PATIENCE_MS, true);
    lab_freeze_worker(lab, 0);
    assert_false(seen_take(&seen, client, 40, true));
    lab_thaw_worker(lab, 0);
    assert_false(seen_take(&seen, client, 10, true));
    wait_for_leases(lab, 1, TEST_PATIENCE_MS, true);
    lab_retire_worker(lab, 1);
    wait_for_leases(lab, 1, SOON_MS, false);
    assert_false(seen_take(&seen, client, 20, true));
    lab_hire_worker(lab, 1);
    wait_for_leases(lab, 1, TEST_PATIENCE_MS, true);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 3);
    struct weir_digest digest = weir_hasher_digest(seen.order);
    assert_memory_equal(&digest, &undisturbed, sizeof(digest));
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, (uint64_t)3 * LAB_SAMPLES);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

static void each_epoch_delivers_its_part_whatever_dies(void **state)
{
    struct lab *lab = lab_start(*state, 2, -1);
    uint64_t batches = (LAB_SAMPLES / 2 + BATCH - 1) / BATCH;
    lab_open_parted_job(lab, 1, JSON, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    for (uint32_t epoch = 0; epoch < LAB_PARTS; epoch++) {
        struct seen seen = {.order = weir_hasher_new()};
        assert_false(seen_take(&seen, client, batches / 2, true));
        if (epoch == 1)
            lab_kill_dispatcher(lab);
        else
            lab_kill_worker(lab, (int)epoch % 2);
        assert_false(seen_take(&seen, client, batches - batches / 2, true));
        for (size_t row = 0; row < LAB_SAMPLES; row++)
            assert_int_equal(seen.times[row], lab_in_part(row, epoch));
        weir_hasher_free(seen.order);
    }
    struct seen rest = {.order = weir_hasher_new()};
    assert_true(seen_take(&rest, client, UINT64_MAX, true));
    assert_int_equal(rest.batches, 0);
    weir_hasher_free(rest.order);
    seen_commit(client, true);
    weir_client_close(client);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, (uint64_t)LAB_PARTS * LAB_SAMPLES / 2);
    assert_int_equal(audit.delivered, audit.set);
    lab_stop(lab);
}

static void a_consumer_that_returns_gets_what_its_state_lacks(void **state)
{
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen first = {.order = weir_hasher_new()}, rest = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, JSON, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_false(seen_take(&first, client, 7, true));
    const void *at;
    size_t size;
    (void)weir_client_state(client, &at, &size, NULL);
    WEIR_AUTO_BUF saved = {0};
    weir_buf_append(&saved, at, size);
    seen_commit(client, false);
    struct seen lost = {.order = weir_hasher_new()};
    assert_false(seen_take(&lost, client, 5, true)); /* consumed, never saved */
    weir_client_close(client);

    client = lab_consume(lab, 1, saved.at, saved.size);
    assert_true(seen_take(&rest, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    for (size_t i = 0; i < LAB_SAMPLES; i++)
        assert_int_equal(first.times[i] + rest.times[i], 1);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, LAB_SAMPLES);
    assert_int_equal(audit.attempts, 2);
    assert_true(audit.replayed <= (uint64_t)5 * BATCH);
    weir_hasher_free(first.order);
    weir_hasher_free(rest.order);
    weir_hasher_free(lost.order);
    lab_stop(lab);
}

/* ---- large batches ---- */

/* True when the bytes are in memory that was lent to a worker. */
static bool is_lent(const void *at)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    bool is_found = false;
    assert_non_null(maps);
    while (!is_found && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from, to;
        is_found = sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)at >= from &&
                   (uintptr_t)at < to && strstr(line, "memfd:weir") != NULL;
    }
    fclose(maps);
    return is_found;
}

static void look_at_wide(struct seen *seen, const struct weir_batch *batch)
{
    const float *x = batch->tensors[0].data;
    assert_int_equal((uintptr_t)x % WEIR_BATCH_ALIGNMENT, 0);
    for (size_t i = 0; i < batch->samples; i++) {
        uint64_t row = batch->ids[i] - LAB_FIRST_ID;
        const float *a = x + 2 * i * CLASSES;
        assert_true(row < LAB_SAMPLES);
        for (size_t k = 0; k < CLASSES; k++) {
            if ((a[k] == 1) != (k == row) || (a[CLASSES + k] == 1) != (k == row * row))
                fail_msg("sample %lu is not its own at %zu", (unsigned long)row, k);
        }
        seen->times[row]++;
    }
}

/* Every fourth batch stays in the loop's hands while others come and a worker dies. */
static void large_batches_come_in_lent_memory_whatever_dies(void **state)
{
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen seen = {.batches = 0};
    struct weir_batch *batch, *kept = NULL;
    struct weir_client_error error = {0};
    unsigned lent = 0;
    lab_open_job(lab, 1, WIDE, 3);
    struct weir_client *client = lab_consume_within(lab, 1, NULL, 0, 4 << 20);
    for (; weir_client_next(client, TEST_PATIENCE_MS, &batch, &error) == WEIR_CLIENT_OK;
         seen.batches++) {
        lent += is_lent(batch->tensors[0].data);
        if (seen.batches % 30 == 20)
            lab_kill_worker(lab, (int)(seen.batches / 30) % 2);
        if (seen.batches % 4 == 0) {
            if (kept != NULL) {
                look_at_wide(&seen, kept);
                consume_batch(client, kept);
            }
            kept = batch;
        } else {
            look_at_wide(&seen, batch);
            consume_batch(client, batch);
        }
    }
    look_at_wide(&seen, kept);
    consume_batch(client, kept);
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 3);
    assert_true(lent > seen.batches / 4);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, (uint64_t)3 * LAB_SAMPLES);
    lab_stop(lab);
}

/* No file of this process, memory that it would lend among them, may have more bytes; returns how many it might. */
static rlim_t limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}

static void without_memory_to_lend_batches_come_in_frames(void **state)
{
    enum { LESS_THAN_A_BATCH = 64 << 10 };
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen seen = {.batches = 0};
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    lab_open_job(lab, 1, WIDE, 1);
    signal(SIGXFSZ, SIG_IGN);
    rlim_t before = limit_files(LESS_THAN_A_BATCH);
    struct weir_client *client = lab_consume_within(lab, 1, NULL, 0, 4 << 20);
    while (weir_client_next(client, TEST_PATIENCE_MS, &batch, &error) == WEIR_CLIENT_OK) {
        assert_false(is_lent(batch->tensors[0].data));
        look_at_wide(&seen, batch);
        consume_batch(client, batch);
    }
    seen_commit(client, true);
    weir_client_close(client);
    (void)limit_files(before);
    signal(SIGXFSZ, SIG_DFL);
    seen_each(&seen, 1);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, LAB_SAMPLES);
    lab_stop(lab);
}

/* Takes the whole of WIDE, once; worker 0 dies at the fifth batch if told to. */
static void take_wide(struct lab *lab, bool is_killing)
{
    struct seen seen = {.batches = 0};
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    lab_open_job(lab, 1, WIDE, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    while (weir_client_next(client, TEST_PATIENCE_MS, &batch, &error) == WEIR_CLIENT_OK) {
        look_at_wide(&seen, batch);
        consume_batch(client, batch);
        if (++seen.batches == 5 && is_killing)
            lab_kill_worker(lab, 0);
    }
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 1);
}

/* Returns the bytes that WIDE takes over TCP, as the workers' last heartbeats report them. */
static uint64_t bytes_over_tcp(struct weir_test_postgres *postgres, const char *compress)
{
    enum { TWO_BEATS_MS = 700 };
    struct lab *lab = lab_start_over_tcp(postgres, 2, compress);
    uint64_t before, sent;
    take_wide(lab, false);
    int64_t deadline_ms = weir_now_ms() + TEST_PATIENCE_MS;
    for (before = 0; (sent = lab_flow(lab).sent) != before || sent == 0; before = sent) {
        assert_true(weir_now_ms() < deadline_ms);
        lab_pause(lab, TWO_BEATS_MS);
    }
    lab_stop(lab);
    weir_test_postgres_reset(postgres);
    return sent;
}

/* The same numbers in a small part of the bytes, as nearly all of them are zeros. */
static void batches_over_tcp_are_the_same_and_smaller(void **state)
{
    uint64_t plain = bytes_over_tcp(*state, "none");
    assert_true(bytes_over_tcp(*state, "lz4") < plain / 10);
    assert_true(bytes_over_tcp(*state, "zstd") < plain / 10);
}

/* It may have sent the whole before it dies: what the pool reports says nothing then. */
static void a_worker_killed_over_tcp_is_found_at_another_port(void **state)
{
    struct lab *lab = lab_start_over_tcp(*state, 2, "lz4");
    take_wide(lab, true);
    lab_stop(lab);
}

static void a_full_disk_stops_no_worker(void **state)
{
    setenv("WEIR_FAULTS", "crashes.reserve=1", 1);
    (void)seen_whole_run(*state, 1, JSON, 1, true);
    unsetenv("WEIR_FAULTS");
}

/* The whole of another job, from the same workers. */
static void take_other_job(struct lab *lab, uint64_t job)
{
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, job, JSON, 2);
    struct weir_client *client = lab_consume(lab, job, NULL, 0);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 2);
    weir_hasher_free(seen.order);
}

/* Nobody makes more than fits what the consumer grants, however long it reads nothing; others go on. */
static void a_trainer_that_stops_reading_is_waited_for_within_bounds(void **state)
{
    enum {
        WINDOW = 4 << 20,
        BATCH_BYTES = 16 * 2 * 4000 * 4 + 1024,
        GROWTH_MAX_KB = 16384,
        LOOKS = 20
    };
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen seen = {.batches = 0};
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    lab_open_job(lab, 1, WIDE, 3);
    struct weir_client *client = lab_consume_within(lab, 1, NULL, 0, WINDOW);
    assert_int_equal(weir_client_next(client, TEST_PATIENCE_MS, &batch, &error), WEIR_CLIENT_OK);
    int64_t deadline_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (lab_flow(lab).least == 0) /* both have finished work that nobody takes */
        assert_true(weir_now_ms() < deadline_ms);
    long workers_kb = lab_memory_kb(lab), own_kb = process_memory_kb(getpid(), "VmRSS:");
    for (int i = 0; i < LOOKS; i++) {
        lab_pause(lab, stall_ms / LOOKS);
        struct lab_flow flow = lab_flow(lab);
        assert_in_range(flow.sent, BATCH_BYTES, WINDOW + 2 * BATCH_BYTES);
        assert_in_range(flow.most, 1, 3); /* WORKER_READY_MAX, and one older than those */
    }
    workers_kb = lab_memory_kb(lab) - workers_kb;
    own_kb = process_memory_kb(getpid(), "VmRSS:") - own_kb;
    print_message("%ld ms without reading: workers %+ld kB, consumer %+ld kB\n", (long)stall_ms,
                  workers_kb, own_kb);
    assert_true(workers_kb < GROWTH_MAX_KB && own_kb < GROWTH_MAX_KB);
    take_other_job(lab, 2);
    do {
        look_at_wide(&seen, batch);
        consume_batch(client, batch);
    } while (weir_client_next(client, TEST_PATIENCE_MS, &batch, &error) == WEIR_CLIENT_OK);
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 3);
    lab_stop(lab);
}

/* --stall MS: how long that trainer reads nothing. */
int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--stall") == 0)
        stall_ms = strtol(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_full_disk_stops_no_worker, weir_test_postgres_clean),
        cmocka_unit_test_teardown(batches_over_tcp_are_the_same_and_smaller,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_worker_killed_over_tcp_is_found_at_another_port,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_trainer_that_stops_reading_is_waited_for_within_bounds,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(any_number_of_workers_delivers_the_same_sequence,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(relaxed_order_delivers_everything_too, weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_fit_does_not_depend_on_who_made_it, weir_test_postgres_clean),
        cmocka_unit_test_teardown(what_a_fit_has_cost_is_told_on, weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_fit_is_the_same_whatever_dies, weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_vocabulary_goes_on_from_that_of_a_model,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(killed_workers_and_dispatchers_change_nothing,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(workers_that_hang_leave_or_join_do_not_show,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(in_relaxed_order_bitmaps_agree_whatever_dies,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(each_epoch_delivers_its_part_whatever_dies,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(large_batches_come_in_lent_memory_whatever_dies,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(without_memory_to_lend_batches_come_in_frames,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_consumer_that_returns_gets_what_its_state_lacks,
                                  weir_test_postgres_clean),
    };
    return cmocka_run_group_tests_name("preprocess", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
