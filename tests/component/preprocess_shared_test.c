/* Equal jobs over real dispatcher and worker processes: what one needs is made once for all (C20), and each gets every
 * sample of its own, in its order, whatever dies, joins late, stops or is erased. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "tests/component/preprocess_seen.h"
#include "tests/support/consume.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    JOBS = 4,
    BATCH = 16,
    EPOCHS = 2,
    CLASSES = 8200,
    WINDOW_BYTES = 8 << 20,
    TURN = 3 /* batches */
};

/* Batches of a little more than 1 MiB: 16 samples of 2 x 8200 numbers. */
#define WIDE                                                                  \
    "preprocess:\n"                                                           \
    "  operators: [{op: json_fields, fields: [a, b]}, {op: cast, to: i32},\n" \
    "              {op: one_hot, classes: 8200}]\n"                           \
    "  batch: {samples: 16}\n"
static const char SHARED[] = WIDE;
static const char ALONE[] = WIDE "  plan: {share: none}\n";

struct consumer {
    uint64_t job;
    struct weir_client *client; /* NULL: it is not there */
    struct weir_hasher *order;  /* over ids and tensors, as they came */
    unsigned times[LAB_SAMPLES];
    uint64_t mapped; /* batches in memory that was made for several */
    bool has_ended;
};

static void open_consumer(struct lab *lab, struct consumer *consumer, const struct weir_buf *state)
{
    consumer->client = lab_consume_within(lab, consumer->job, state != NULL ? state->at : NULL,
                                          state != NULL ? state->size : 0, WINDOW_BYTES);
}

/* True when the bytes are in memory of a worker, mapped copy-on-write. */
static bool is_mapped(const void *at)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], rights[5];
    bool is_found = false;
    assert_non_null(maps);
    while (!is_found && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from, to;
        is_found = sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && (uintptr_t)at >= from &&
                   (uintptr_t)at < to && strcmp(rights, "rw-p") == 0 &&
                   strstr(line, "memfd:weir") != NULL;
    }
    fclose(maps);
    return is_found;
}

static void scribble(const struct weir_tensor *tensor)
{
    union {
        const void *in;
        void *out;
    } data = {.in = tensor->data};
    memset(data.out, 0xff, tensor->bytes);
}

static void take_batch(struct consumer *consumer, struct weir_batch *batch)
{
    const float *x = batch->tensors[0].data;
    for (size_t i = 0; i < batch->samples; i++) {
        uint64_t row = batch->ids[i] - LAB_FIRST_ID;
        assert_true(row < LAB_SAMPLES);
        assert_true(row >= CLASSES || x[2 * i * CLASSES + row] == 1);
        consumer->times[row]++;
    }
    weir_hasher_add(consumer->order, batch->ids, batch->samples * sizeof(uint64_t));
    weir_hasher_add(consumer->order, x, batch->samples * 2 * CLASSES * sizeof(float));
    consumer->mapped += is_mapped(x);
    scribble(&batch->tensors[0]); /* which nobody else sees */
    consume_batch(consumer->client, batch);
}

/* Takes a few batches. */
static void take_turn(struct consumer *consumer)
{
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    for (int i = 0; i < TURN && !consumer->has_ended; i++) {
        enum weir_client_status status =
            weir_client_next(consumer->client, TEST_PATIENCE_MS, &batch, &error);
        if (status != WEIR_CLIENT_OK && status != WEIR_CLIENT_END)
            fail_msg("job %lu: %s", (unsigned long)consumer->job, error.text);
        consumer->has_ended = status == WEIR_CLIENT_END;
        if (!consumer->has_ended)
            take_batch(consumer, batch);
    }
}

/* One after the other, until all that are there have everything; returns how many turns they have had. */
static unsigned take_all(struct consumer *consumers, size_t count, unsigned turns)
{
    unsigned turn = 0;
    for (bool goes_on = true; goes_on && turn < turns; turn++) {
        goes_on = false;
        for (size_t i = 0; i < count; i++) {
            if (consumers[i].client == NULL || consumers[i].has_ended)
                continue;
            take_turn(&consumers[i]);
            goes_on = true;
        }
    }
    return turn;
}

static struct weir_digest end_consumer(struct lab *lab, struct consumer *consumer)
{
    seen_commit(consumer->client, true);
    weir_client_close(consumer->client);
    struct msg_job_is audit = lab_audit(lab, consumer->job);
    seen_clean(&audit, (uint64_t)EPOCHS * LAB_SAMPLES);
    struct weir_digest digest = weir_hasher_digest(consumer->order);
    weir_hasher_free(consumer->order);
    return digest;
}

static void begin_jobs(struct lab *lab, struct consumer *consumers, size_t count,
                       const char *section)
{
    for (size_t i = 0; i < count; i++) {
        consumers[i] = (struct consumer){.job = i + 1, .order = weir_hasher_new()};
        lab_open_job(lab, consumers[i].job, section, EPOCHS);
    }
    for (size_t i = 0; i < count; i++)
        open_consumer(lab, &consumers[i], NULL);
}

/* Bytes that operators have made for the jobs, once the last beats are in. */
static uint64_t made_for(struct lab *lab, size_t jobs)
{
    uint64_t sum, before = 0;
    for (;; before = sum) {
        sum = 0;
        for (size_t job = 1; job <= jobs; job++) {
            uint64_t bytes;
            (void)lab_made(lab, job, &bytes);
            sum += bytes;
        }
        if (sum > 0 && sum == before)
            return sum;
        lab_pause(lab, 700); /* more than two beats */
    }
}

/* Each knows how many shared, and all but the batches that were made for it were found. */
static void check_told(struct lab *lab, size_t count, bool is_shared)
{
    uint64_t found = 0, batches = EPOCHS * ((LAB_SAMPLES + BATCH - 1) / BATCH);
    for (uint64_t job = 1; job <= count; job++) {
        struct msg_job_is audit = lab_audit(lab, job);
        assert_int_equal(audit.shared_jobs, is_shared ? count : 0);
        found += audit.shared_batches;
    }
    assert_true(is_shared ? found > (count - 2) * batches : found == 0);
}

/* Returns the digest that all of them have seen; `ret_made`: bytes that operators have made. */
static struct weir_digest run_equal_jobs(void **state, size_t count, const char *section,
                                         uint64_t *ret_made)
{
    struct consumer consumers[JOBS];
    struct weir_digest digests[JOBS];
    struct lab *lab = lab_start(*state, 2, -1);
    begin_jobs(lab, consumers, count, section);
    (void)take_all(consumers, count, UINT_MAX);
    *ret_made = made_for(lab, count);
    for (size_t i = 0; i < count && section == SHARED && count > 1; i++)
        assert_true(consumers[i].mapped > 0);
    check_told(lab, count, count > 1 && section == SHARED);
    for (size_t i = 0; i < count; i++) {
        digests[i] = end_consumer(lab, &consumers[i]);
        assert_memory_equal(&digests[i], &digests[0], sizeof(digests[0]));
    }
    lab_stop(lab);
    weir_test_postgres_reset(*state);
    return digests[0];
}

static void what_equal_jobs_need_is_made_once(void **state)
{
    uint64_t one, shared, alone;
    struct weir_digest first = run_equal_jobs(state, 1, SHARED, &one);
    struct weir_digest together = run_equal_jobs(state, JOBS, SHARED, &shared);
    struct weir_digest each = run_equal_jobs(state, JOBS, ALONE, &alone);
    assert_memory_equal(&together, &first, sizeof(first));
    assert_memory_equal(&each, &first, sizeof(first));
    assert_true(shared < 2 * one); /* the first may be ahead when the others come */
    assert_true(alone >= JOBS * one);
}

/* Dies a few batches after its newest state, and comes back with that. */
static void die_and_return(struct lab *lab, struct consumer *consumer)
{
    const void *at;
    size_t size;
    WEIR_AUTO_BUF saved = {0};
    struct consumer lost = {.client = consumer->client, .order = weir_hasher_new()};
    (void)weir_client_state(consumer->client, &at, &size, NULL);
    weir_buf_append(&saved, at, size);
    seen_commit(consumer->client, false);
    take_turn(&lost);
    weir_client_close(consumer->client);
    weir_hasher_free(lost.order);
    open_consumer(lab, consumer, &saved);
}

static void who_stops_dies_or_comes_late_harms_nobody(void **state)
{
    enum { STOPPED, DYING, LATE, STEADY, SOME_TURNS = 6 };
    uint64_t one;
    struct consumer consumers[JOBS];
    struct weir_digest undisturbed = run_equal_jobs(state, 1, SHARED, &one);
    struct lab *lab = lab_start(*state, 2, -1);
    begin_jobs(lab, consumers, LATE, SHARED);
    consumers[LATE] = (struct consumer){.job = LATE + 1, .order = weir_hasher_new()};
    consumers[STEADY] = (struct consumer){.job = STEADY + 1, .order = weir_hasher_new()};
    lab_open_job(lab, consumers[STEADY].job, SHARED, EPOCHS);
    open_consumer(lab, &consumers[STEADY], NULL);
    (void)take_all(consumers, JOBS, SOME_TURNS);
    (void)take_all(&consumers[DYING], JOBS - DYING, SOME_TURNS); /* the first one stands still */
    die_and_return(lab, &consumers[DYING]);
    lab_kill_worker(lab, 0);
    (void)take_all(&consumers[DYING], JOBS - DYING, SOME_TURNS);
    lab_open_job(lab, consumers[LATE].job, SHARED, EPOCHS);
    open_consumer(lab, &consumers[LATE], NULL);
    lab_kill_dispatcher(lab);
    (void)take_all(consumers, JOBS, SOME_TURNS);
    lab_kill_worker(lab, 1);
    (void)take_all(consumers, JOBS, UINT_MAX);
    for (size_t i = 0; i < JOBS; i++) {
        struct weir_digest digest = end_consumer(lab, &consumers[i]);
        assert_memory_equal(&digest, &undisturbed, sizeof(digest));
    }
    lab_stop(lab);
}

/* Some have been handed the sample already, others are about to be. */
static void what_is_erased_is_a_hole_for_each_that_has_not_got_it(void **state)
{
    enum { ERASED = 12, EVERY = 50, AT_ONCE = 3 };
    struct consumer consumers[JOBS];
    struct lab *lab = lab_start(*state, 2, -1);
    begin_jobs(lab, consumers, JOBS, SHARED);
    for (uint64_t i = 0; i < ERASED; i++) {
        if (i % AT_ONCE == 0)
            (void)take_all(consumers, i / AT_ONCE % JOBS + 1, 1);
        lab_erase(lab, LAB_FIRST_ID + EVERY * i);
    }
    (void)take_all(consumers, JOBS, UINT_MAX);
    for (size_t k = 0; k < JOBS; k++) {
        uint64_t delivered = 0;
        for (size_t i = 0; i < LAB_SAMPLES; i++) {
            bool is_erased = i % EVERY == 0 && i / EVERY < ERASED;
            assert_true(consumers[k].times[i] <= EPOCHS);
            assert_true(is_erased || consumers[k].times[i] == EPOCHS);
            delivered += consumers[k].times[i];
        }
        (void)end_consumer(lab, &consumers[k]);
        struct msg_job_is audit = lab_audit(lab, consumers[k].job);
        assert_int_equal(audit.delivered, delivered);
        assert_int_equal(audit.erased, (uint64_t)EPOCHS * LAB_SAMPLES - delivered);
        assert_true(audit.erased >= ERASED); /* of the second epoch, at least */
    }
    lab_stop(lab);
}

static void each_job_is_told_which_samples_failed_and_why(void **state)
{
    enum { BAD = 100 };
    struct consumer consumers[JOBS];
    uint64_t shared = 0;
    struct lab *lab = lab_start(*state, 1, BAD);
    begin_jobs(lab, consumers, JOBS, SHARED);
    (void)take_all(consumers, JOBS, UINT_MAX);
    for (size_t i = 0; i < JOBS; i++) {
        char reason[LAB_REASON_MAX];
        (void)end_consumer(lab, &consumers[i]);
        struct msg_job_is audit = lab_audit(lab, consumers[i].job);
        assert_int_equal(audit.failed, EPOCHS);
        assert_int_equal(lab_failed(lab, consumers[i].job, reason), LAB_FIRST_ID + BAD);
        assert_non_null(strstr(reason, "json_fields"));
        shared += audit.shared_batches;
    }
    assert_true(shared > 0);
    lab_stop(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_equal_jobs_need_is_made_once, weir_test_postgres_clean),
        cmocka_unit_test_teardown(who_stops_dies_or_comes_late_harms_nobody,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(what_is_erased_is_a_hole_for_each_that_has_not_got_it,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(each_job_is_told_which_samples_failed_and_why,
                                  weir_test_postgres_clean),
    };
    return cmocka_run_group_tests_name("preprocess shared", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
