/* A store that takes in files, loses some and erases samples while kill -9 hits storage, or Postgres, at
 * random moments: afterwards it holds what an undisturbed one holds, under the same ids; a hundred consumers
 * of the feed, newcomers among them, know exactly what is live; and an examination finds nothing wrong.
 * `--kills N` per victim, `--seed S` to see a failure again. */
#include "tests/component/storage_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    LINES = 4000,
    FILES = 3, /* new in each round */
    KILLS_A_ROUND = 5,
    ROUNDS_MAX = 60,
    USERS = 200, /* one is erased after each round, and stays out */
    CONSUMERS = 100,
    ROWS_MAX = ROUNDS_MAX * FILES * LINES,
    WRONG = 2,
};

static const char DATASETS[] = "  - name: clicks\n"
                               "    source: {path: %s/clicks, format: csv, import: copy,\n"
                               "             on_erase: scrub, settle: 0ms}\n"
                               "    time: {from: field, field: ts}\n"
                               "    label: {field: kind, classes: stream}\n"
                               "    subject: {field: user}\n";

static struct storage_lab lab;
static uint64_t seed;
static int kills = 10;

/* ---- consumers ---- */

struct consumer {
    char name[32];
    uint64_t passed;
    bool is_live[ROWS_MAX];
};
static struct consumer *consumers;

static size_t index_of(uint64_t id)
{
    size_t index = (size_t)weir_sample_block(id) << WEIR_ROW_BITS | weir_sample_row(id);

    assert_true(index < ROWS_MAX);
    return index;
}

/* One page; every change must make sense after all that came before. */
static bool read_on(struct consumer *consumer)
{
    const struct msg_feed_read ask = {.dataset = 1,
                                      .consumer = consumer->name,
                                      .after = consumer->passed,
                                      .limit = 50,
                                      .snapshot = consumer->passed == 0};
    struct msg_feed_is page;
    bool is_more;

    assert_int_equal(storage_lab_request(&lab, MSG_feed_read, &ask, MSG_feed_is, &page), WEIR_OK);
    for (size_t i = 0; i < page.sequences.count; i++) {
        bool is_added = page.kinds.at[i] == WEIR_CHANGE_ADDED;

        assert_true(page.sequences.at[i] > consumer->passed);
        for (uint32_t k = 0; k < page.counts.at[i]; k++) {
            bool *is_live = &consumer->is_live[index_of(page.firsts.at[i] + k)];

            assert_false(is_added && *is_live); /* nothing twice */
            *is_live = is_added;
        }
    }
    is_more = page.passed > consumer->passed;
    consumer->passed = page.passed;
    return is_more;
}

/* Some of them read a little, some everything; each round brings newcomers. */
static void let_some_read(struct weir_rng *rng, int round)
{
    for (int c = 0; c < CONSUMERS; c++) {
        bool has_come = c % 10 <= round;

        if (has_come && weir_rng_below(rng, 4) == 0)
            while (read_on(&consumers[c]) && weir_rng_below(rng, 3) > 0)
                ;
    }
}

static void assert_consumers_know_what_is_live(uint64_t live)
{
    for (int c = 0; c < CONSUMERS; c++) {
        uint64_t known = 0;

        while (read_on(&consumers[c]))
            ;
        for (size_t i = 0; i < ROWS_MAX; i++)
            known += consumers[c].is_live[i];
        assert_int_equal(known, live);
        assert_memory_equal(consumers[c].is_live, consumers[0].is_live, ROWS_MAX);
    }
}

/* ---- storms ---- */

enum victim { NOBODY, STORAGE, POSTGRES };

static void wait_some(struct weir_rng *rng, uint64_t ms_max)
{
    int64_t until_ms = weir_now_ms() + (int64_t)weir_rng_below(rng, ms_max);

    while (weir_now_ms() < until_ms)
        weir_loop_step(lab.loop, 2);
}

static void strike(struct weir_rng *rng, enum victim victim)
{
    wait_some(rng, 80);
    if (victim == STORAGE) {
        storage_lab_kill(&lab);
        storage_lab_start(&lab);
    } else if (victim == POSTGRES) {
        weir_test_postgres_kill(&lab.postgres);
        weir_test_postgres_resume(&lab.postgres);
    }
    (void)storage_lab_dataset(&lab, "clicks"); /* it is up again, and at work */
}

static void write_round(int round)
{
    for (int f = 0; f < FILES; f++) {
        WEIR_AUTO_BUF text = {0};
        char name[64];

        snprintf(name, sizeof(name), "clicks/%03d-%d.csv", round, f);
        weir_buf_append_text(&text, "ts,kind,user\n");
        for (int i = 0; i < LINES; i++)
            weir_buf_printf(&text, "%d,kind%d,user%d\n", (round * 31 + i * 7919) % 100000, i % 11,
                            i % USERS);
        storage_lab_write(&lab, name, weir_buf_text(&text));
    }
}

static uint64_t wanted_after(int round)
{
    uint64_t wanted = 0;

    for (int r = 0; r <= round; r++)
        wanted += FILES * (uint64_t)(LINES - r * LINES / USERS);
    return wanted;
}

/* Files come and go while storage is down, so that one scan sees them all; then an erasure. */
static void run_round(struct weir_rng *rng, int round, enum victim victim, int strikes)
{
    uint64_t wanted = wanted_after(round);
    const char *subject = weir_arena_format(lab.arena, "user%d", round);
    const char *uuid = weir_arena_format(lab.arena, "storm-%d", round);
    struct msg_erase_accepted accepted;

    storage_lab_kill(&lab);
    write_round(round);
    if (round > 0)
        storage_lab_remove(&lab, weir_arena_format(lab.arena, "clicks/%03d-1.csv", round - 1));
    storage_lab_start(&lab);
    (void)storage_lab_dataset(&lab, "clicks"); /* without Postgres it would not start at all */
    for (int k = 0; k < strikes - strikes / 3; k++)
        strike(rng, victim);
    while (storage_lab_dataset(&lab, "clicks").ingested < wanted)
        weir_loop_step(lab.loop, 10);
    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept,
                            &(struct msg_erase_accept){.uuid = uuid, .subjects = {&subject, 1}},
                            MSG_erase_accepted, &accepted),
        WEIR_OK);
    for (int k = 0; k < strikes / 3; k++)
        strike(rng, victim);
    assert_int_equal(storage_lab_await_erasure(&lab, accepted.erasure, "verified").found, 0);
    if (victim != NOBODY)
        let_some_read(rng, round);
}

/* Every live sample with its time and label, in replay order. */
static uint64_t digest_of(uint64_t position, uint64_t *ret_count)
{
    struct msg_replay_is page = {.end = false};
    struct msg_replay_read ask = {.dataset = 1, .position = position, .after_time = INT64_MIN};
    uint64_t digest = 0;

    for (*ret_count = 0; !page.end; *ret_count += page.ids.count) {
        assert_int_equal(storage_lab_request(&lab, MSG_replay_read, &ask, MSG_replay_is, &page),
                         WEIR_OK);
        for (size_t i = 0; i < page.ids.count; i++) {
            digest = weir_mix64(digest ^ page.ids.at[i]) + (uint64_t)page.labels.at[i];
            digest = weir_mix64(digest ^ (uint64_t)page.times.at[i]);
            ask.after_time = page.times.at[i];
            ask.after_id = page.ids.at[i];
        }
    }
    return digest;
}

static void assert_nothing_is_wrong(void)
{
    struct msg_doctor_is answer = storage_lab_examine(&lab, true);

    for (size_t i = 0; i < answer.checks.count; i++) {
        if (answer.verdicts.at[i] == WRONG)
            print_message("%s: %s (expected %s)\n", answer.checks.at[i], answer.found.at[i],
                          answer.expected.at[i]);
        assert_int_not_equal(answer.verdicts.at[i], WRONG);
    }
}

static uint64_t run(enum victim victim, int rounds, struct msg_dataset_is *ret_dataset)
{
    uint64_t count, digest;
    struct weir_rng rng;

    weir_rng_init(&rng, seed + (uint64_t)victim);
    storage_lab_begin(&lab);
    storage_lab_write(&lab, "clicks/000-0.csv", "ts,kind,user\n");
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, DATASETS), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 0);
    for (int round = 0; round < rounds; round++)
        run_round(&rng, round, victim, victim == NOBODY ? 0 : KILLS_A_ROUND);
    *ret_dataset = storage_lab_dataset(&lab, "clicks");
    digest = digest_of(ret_dataset->sequence, &count);
    assert_int_equal(count, ret_dataset->live);
    if (victim != NOBODY)
        assert_consumers_know_what_is_live(ret_dataset->live);
    assert_nothing_is_wrong();
    storage_lab_end(&lab);
    return digest;
}

static void weather(enum victim victim)
{
    int rounds = (kills + KILLS_A_ROUND - 1) / KILLS_A_ROUND;
    struct msg_dataset_is calm, stormy;
    uint64_t calm_digest, stormy_digest;

    rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
    print_message("seed %llu\n", (unsigned long long)seed);
    consumers = weir_calloc(CONSUMERS, sizeof(*consumers));
    for (int c = 0; c < CONSUMERS; c++)
        snprintf(consumers[c].name, sizeof(consumers[c].name), "consumer-%d", c);
    calm_digest = run(NOBODY, rounds, &calm);
    stormy_digest = run(victim, rounds, &stormy);
    free(consumers);
    assert_int_equal(calm.ingested, stormy.ingested);
    assert_int_equal(calm.live, stormy.live);
    assert_int_equal(calm.erased, stormy.erased);
    assert_int_equal(calm.removed, stormy.removed);
    assert_true(calm_digest == stormy_digest);
}

static void storage_may_die_at_any_moment(void **state)
{
    (void)state;
    weather(STORAGE);
}

static void postgres_may_die_at_any_moment(void **state)
{
    (void)state;
    weather(POSTGRES);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storage_may_die_at_any_moment),
        cmocka_unit_test(postgres_may_die_at_any_moment),
    };

    seed = weir_random_u64() >> 32;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--kills") == 0)
            kills = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
    }
    return storage_lab_run(&lab, "storage: storms", tests, WEIR_COUNT(tests));
}
