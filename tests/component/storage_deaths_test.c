/* An erasure of several pages while storage dies at one commit after the other, and one that an older Weir had under
 * way: both end as if nothing had happened. `--rounds N` for more schedules, `--seed S` to see a failure again. */
#include "tests/component/storage_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    LINES = 9000,
    MINE_EACH = 2, /* every other line is mine: three pages */
    FEW = 60,
    FEED_PAGE = 50,
    COMMITS_MAX = 6, /* between a start and a death */
    WAIT_MS = 500,   /* for an answer of somebody who may be dead */
};

static const char DATASETS[] = "  - name: lines\n"
                               "    source: {path: %s, format: jsonl, on_erase: scrub,\n"
                               "             import: copy, settle: 0ms}\n"
                               "    time: {from: field, field: ts}\n"
                               "    subject: {field: user}\n";

static struct storage_lab lab;
static uint64_t seed = 1;
static uint64_t erasure;
static int rounds = 1;

static void take_in(size_t lines)
{
    WEIR_AUTO_BUF text = {0};

    for (size_t i = 0; i < lines; i++)
        weir_buf_printf(&text, "{\"ts\":%zu,\"user\":\"%s\",\"text\":\"line %zu, of heron %zu\"}\n",
                        i + 1, i % MINE_EACH == 1 ? "me" : "you", i, i * 7919 % lines);
    storage_lab_write(&lab, "a.jsonl", weir_buf_text(&text));
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, DATASETS), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "lines", 1).live, lines);
}

/* ---- what there is in the end ---- */

struct outcome {
    struct msg_erase_is erasure; /* without its ids */
    struct msg_dataset_is dataset;
    uint64_t ids, feed, file; /* digests */
};

static uint64_t digest_ids(uint64_t pages)
{
    uint64_t digest = 0;

    for (uint64_t page = 1; page <= pages; page++) {
        struct msg_erase_is is;

        assert_int_equal(storage_lab_request(&lab, MSG_erase_request,
                                             &(struct msg_erase_request){erasure, page},
                                             MSG_erase_is, &is),
                         WEIR_OK);
        for (size_t i = 0; i < is.ids.count; i++)
            digest = weir_mix64(digest ^ is.ids.at[i]) + page;
    }
    return digest;
}

static uint64_t digest_feed(void)
{
    struct msg_feed_read ask = {.dataset = 1, .consumer = "c", .limit = FEED_PAGE};
    struct msg_feed_is page;
    uint64_t digest = 0;

    do {
        assert_int_equal(storage_lab_request(&lab, MSG_feed_read, &ask, MSG_feed_is, &page),
                         WEIR_OK);
        for (size_t i = 0; i < page.sequences.count; i++)
            digest = weir_mix64(digest ^ page.firsts.at[i]) + page.counts.at[i] +
                     page.kinds.at[i] * page.sequences.at[i];
        ask.after = page.passed;
    } while (page.sequences.count > 0);
    return digest;
}

static uint64_t digest_file(void)
{
    const char *path = storage_lab_path(&lab, "data/storage/lines/a.jsonl");
    WEIR_AUTO_BUF bytes = {0};
    struct weir_error err;
    uint64_t digest = 0;

    assert_int_equal(weir_file_read(path, 1 << 24, &bytes, &err), WEIR_OK);
    assert_null(memmem(bytes.at, bytes.size, "\"me\"", 4));
    for (size_t i = 0; i < bytes.size; i++)
        digest = weir_mix64(digest ^ bytes.at[i]);
    return digest;
}

static struct outcome outcome(void)
{
    struct outcome is = {.erasure = storage_lab_await_erasure(&lab, erasure, "verified"),
                         .dataset = storage_lab_dataset(&lab, "lines")};

    is.ids = digest_ids(is.erasure.pages);
    is.feed = digest_feed();
    is.file = digest_file();
    return is;
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_int_equal(a->erasure.samples, b->erasure.samples);
    assert_int_equal(a->erasure.pages, b->erasure.pages);
    assert_int_equal(a->erasure.epoch, b->erasure.epoch);
    assert_int_equal(a->erasure.found, b->erasure.found);
    assert_int_equal(a->erasure.records_scrubbed, b->erasure.records_scrubbed);
    assert_int_equal(a->erasure.bytes_scrubbed, b->erasure.bytes_scrubbed);
    assert_int_equal(a->dataset.live, b->dataset.live);
    assert_int_equal(a->dataset.erased, b->dataset.erased);
    assert_int_equal(a->dataset.sequence, b->dataset.sequence);
    assert_true(a->ids == b->ids && a->feed == b->feed && a->file == b->file);
}

/* ---- deaths ---- */

static bool request_shortly(enum weir_message type, const void *message, enum weir_message expected,
                            void *ret_message)
{
    return weir_rpc_request(lab.peer, type, message, WAIT_MS, expected, lab.arena, ret_message,
                            &lab.err) == WEIR_OK;
}

/* Dies at the nth commit from now on. */
static void restart_dying(int commit, bool is_after)
{
    lab.faults = weir_arena_format(lab.arena, "db.commit%s=!%d", is_after ? "ted" : "", commit);
    storage_lab_start(&lab);
}

/* Number of commits that a start makes when there is nothing to do. */
static int commits_of_a_start(void)
{
    for (int commit = 1;; commit++) {
        struct msg_dataset_is is;

        storage_lab_kill(&lab);
        restart_dying(commit, false);
        while (!storage_lab_has_died(&lab)) {
            if (request_shortly(MSG_dataset_request, &(struct msg_dataset_request){.name = "lines"},
                                MSG_dataset_is, &is))
                return commit - 1;
        }
        lab.faults = NULL;
        storage_lab_start(&lab);
    }
}

/* Does what the orchestrator does, as long as storage lives. True once it is verified. */
static bool go_on(void)
{
    const char *subject = "me";
    const struct msg_erase_accept asked = {.uuid = "u1", .subjects = {&subject, 1}};
    struct msg_erase_accepted accepted;
    struct msg_erase_scrubbed scrubbed;
    struct msg_erase_search_noted noted;
    struct msg_erase_is is = {.state = ""};
    bool is_accepted = false;

    while (strcmp(is.state, "verified") != 0) {
        if (storage_lab_has_died(&lab))
            return false;
        weir_loop_step(lab.loop, 5);
        if (!is_accepted)
            is_accepted = request_shortly(MSG_erase_accept, &asked, MSG_erase_accepted, &accepted);
        if (!is_accepted) /* it is still starting */
            continue;
        erasure = accepted.erasure; /* what died has used numbers up */
        if (request_shortly(MSG_erase_scrubbed_request, NULL, MSG_erase_scrubbed, &scrubbed) &&
            scrubbed.erasures.count > 0)
            (void)request_shortly(MSG_erase_search,
                                  &(struct msg_erase_search){.erasures = scrubbed.erasures},
                                  MSG_erase_search_noted, &noted);
        (void)request_shortly(MSG_erase_request, &(struct msg_erase_request){.erasure = erasure},
                              MSG_erase_is, &is);
    }
    return true;
}

/* Returns how often it has died. */
static int erase_dying(struct weir_rng *rng)
{
    int starting = commits_of_a_start(), deaths = 0;

    storage_lab_kill(&lab);
    for (;; deaths++) {
        int commit = starting + 1 + (int)weir_rng_below(rng, COMMITS_MAX);

        restart_dying(commit, weir_rng_below(rng, 2) == 1);
        if (go_on())
            break;
    }
    storage_lab_kill(&lab);
    lab.faults = NULL;
    storage_lab_start(&lab);
    return deaths;
}

static void deaths_at_every_commit_change_nothing(void **state)
{
    struct outcome calm, stormy;

    take_in(LINES);
    assert_true(go_on());
    calm = outcome();
    assert_int_equal(calm.erasure.samples, LINES / MINE_EACH);
    assert_int_equal(calm.erasure.pages, 3);
    assert_int_equal(calm.dataset.erased, LINES / MINE_EACH);
    assert_int_equal(calm.erasure.found, 0);
    for (int round = 0; round < rounds; round++) {
        struct weir_rng rng;
        int deaths;

        weir_rng_init(&rng, seed + (uint64_t)round);
        storage_lab_teardown(state);
        storage_lab_setup_stopped(state);
        take_in(LINES);
        deaths = erase_dying(&rng);
        print_message("seed %d: %d deaths\n", (int)seed + round, deaths);
        assert_true(deaths > 0);
        stormy = outcome();
        assert_same(&calm, &stormy);
        assert_int_equal(calm.erasure.files_scrubbed, stormy.erasure.files_scrubbed);
    }
}

/* ---- an older Weir ---- */

/* Undoes migrations 041, 097, 181 and 182: all ids, and all fingerprints with what could not be read, in one value
 * each. */
static const char OLDER[] =
    "SET search_path = storage;"
    "ALTER TABLE erasure ADD COLUMN ids bytea NOT NULL DEFAULT '',"
    "  ADD COLUMN probes bytea NOT NULL DEFAULT '', ADD COLUMN hashes bytea NOT NULL DEFAULT '';"
    "CREATE TABLE epoch (number bigint PRIMARY KEY, erasure bigint NOT NULL, ids bytea NOT NULL);"
    "INSERT INTO epoch SELECT epoch, erasure, ids FROM erasure_ids;"
    "UPDATE erasure e SET"
    "  ids = coalesce((SELECT string_agg(i.ids, ''::bytea ORDER BY page) FROM erasure_ids i"
    "                  WHERE i.erasure = number), ''),"
    "  probes = coalesce((SELECT prints FROM erasure_prints p WHERE p.erasure = number), '');"
    "DROP INDEX erasure_open; DROP TABLE erasure_ids; DROP TABLE erasure_prints; DROP TABLE erasure_unread;"
    "ALTER TABLE erasure DROP COLUMN samples, DROP COLUMN pages;"
    "CREATE INDEX epoch_of_erasure ON epoch (erasure);"
    "DROP TABLE search; DROP TABLE erasure_file; ALTER TABLE erasure DROP COLUMN search, DROP COLUMN files_scrubbed;"
    "ALTER TABLE erasure RENAME COLUMN records_scrubbed TO files_scrubbed;"
    "DELETE FROM migration WHERE number IN (41, 97, 181, 182);";

/* Dies at its nth commit, and is that of an older Weir then. False when it was through before. */
static bool leave_to_an_older_weir(int commit)
{
    storage_lab_kill(&lab);
    restart_dying(commit, false);
    if (go_on())
        return false;
    lab.faults = NULL;
    weir_test_postgres_sql(&lab.postgres, OLDER);
    return true;
}

/* One page each: an older Weir never had a part of an erasure in another state than the rest. */
static void what_an_older_weir_had_under_way_goes_on_from_any_state(void **state)
{
    struct outcome calm, upgraded;
    int starting, commit;

    take_in(FEW);
    assert_true(go_on());
    calm = outcome();
    starting = commits_of_a_start();
    assert_int_equal(calm.erasure.samples, FEW / MINE_EACH);
    for (commit = starting + 1;; commit++) {
        storage_lab_teardown(state);
        storage_lab_setup_stopped(state);
        take_in(FEW);
        if (!leave_to_an_older_weir(commit))
            break;
        storage_lab_start(&lab);
        assert_true(go_on());
        upgraded = outcome();
        assert_same(&calm, &upgraded);
    }
    lab.faults = NULL;
    print_message("%d states\n", commit - 1 - starting);
    assert_true(commit - starting > 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE_AFTER(&lab, storage_lab_setup_stopped, deaths_at_every_commit_change_nothing),
        STORAGE_CASE_AFTER(&lab, storage_lab_setup_stopped,
                           what_an_older_weir_had_under_way_goes_on_from_any_state),
    };

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--seed") == 0)
            seed = (uint64_t)atoll(argv[i + 1]);
    }
    return storage_lab_run(&lab, "storage: erasures that are interrupted", tests,
                           WEIR_COUNT(tests));
}
