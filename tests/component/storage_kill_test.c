/* kill -9 of storage at random moments while it takes in files: the ids are those of an undisturbed run,
 * the feed has no gap, and the accounts add up. The seed is printed when a test fails. */
#include "tests/component/storage_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "core/wire/sample.h"
#include "tests/support/loop.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAILS = 3000, LINES = 20000, KILLS = 6 };

#define CLASSES                                                                            \
    "classes: [ham, spam, kind0, kind1, kind2, kind3, kind4, kind5, kind6, kind7, kind8, " \
    "kind9, kind10]"

static const char DATASETS[] = "  - name: mails\n"
                               "    source: {path: %s/mails, format: files, include: \"*.txt\",\n"
                               "             import: copy, on_erase: unlink}\n"
                               "    time: {from: manifest}\n"
                               "    label: {from: manifest, " CLASSES "}\n"
                               "    subject: {from: manifest}\n"
                               "  - name: clicks\n"
                               "    source: {path: %s/clicks, format: csv, import: copy,\n"
                               "             on_erase: scrub}\n"
                               "    time: {from: field, field: ts}\n"
                               "    label: {field: kind, " CLASSES "}\n"
                               "    subject: {field: user}\n";

static struct storage_lab lab;

static void write_source(void)
{
    WEIR_AUTO_BUF manifest = {0};
    WEIR_AUTO_BUF clicks = {0};

    weir_buf_append_text(&manifest, "path,time,label,subject\n");
    for (int i = 0; i < MAILS; i++) {
        char name[64], text[64];

        snprintf(name, sizeof(name), "mails/%d/m%d.txt", i % 7, i);
        snprintf(text, sizeof(text), "mail %d", i);
        storage_lab_write(&lab, name, text);
        weir_buf_printf(&manifest, "%s,%d,%s,user%d\n", name + 6, 1000000 + i * 37 % 5000,
                        i % 3 ? "ham" : "spam", i % 50);
    }
    weir_buf_append_text(&clicks, "ts,kind,user\n");
    for (int i = 0; i < LINES; i++)
        weir_buf_printf(&clicks, "%d,kind%d,user%d\n", i, i * 7 % 11, i % 50);
    storage_lab_write(&lab, "mails/manifest.csv", weir_buf_text(&manifest));
    storage_lab_write(&lab, "clicks/day.csv", weir_buf_text(&clicks));
}

/* Every sample with its label, in replay order: what training would see. */
static uint64_t digest_of(uint64_t dataset, uint64_t position, size_t *ret_count)
{
    struct msg_replay_is page = {.end = false};
    int64_t time = INT64_MIN;
    uint64_t id = 0, digest = 0;

    for (*ret_count = 0; !page.end; *ret_count += page.ids.count) {
        assert_int_equal(storage_lab_request(&lab, MSG_replay_read,
                                             &(struct msg_replay_read){.dataset = dataset,
                                                                       .position = position,
                                                                       .after_time = time,
                                                                       .after_id = id,
                                                                       .limit = 5000},
                                             MSG_replay_is, &page),
                         WEIR_OK);
        for (size_t i = 0; i < page.ids.count; i++) {
            digest = weir_mix64(digest ^ page.ids.at[i]) + (uint64_t)page.labels.at[i];
            time = page.times.at[i];
            id = page.ids.at[i];
        }
    }
    return digest;
}

static void ids_do_not_depend_on_deaths(void **state)
{
    uint64_t seed = weir_random_u64();
    struct weir_rng rng;
    uint64_t calm[2], stormy[2];
    size_t counts[2];
    uint32_t sample;

    (void)state;
    weir_rng_init(&rng, seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    write_source();
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, DATASETS), WEIR_OK);
    calm[0] = digest_of(1, storage_lab_await(&lab, "mails", 1).sequence, &counts[0]);
    calm[1] = digest_of(2, storage_lab_await(&lab, "clicks", 1).sequence, &counts[1]);
    assert_int_equal(counts[0], MAILS);
    assert_int_equal(counts[1], LINES);
    storage_lab_kill(&lab);

    weir_test_postgres_reset(&lab.postgres); /* which a data directory that is new goes with */
    assert_int_equal(unlink(storage_lab_path(&lab, "data/storage/.home")), 0);
    for (int i = 0; i < KILLS; i++) {
        int64_t until_ms;

        storage_lab_start(&lab);
        if (i == 0)
            assert_int_equal(storage_lab_declare(&lab, DATASETS), WEIR_OK);
        (void)storage_lab_dataset(&lab, "mails"); /* it is up, and at work */
        until_ms = weir_now_ms() + (int64_t)weir_rng_below(&rng, 60);
        while (weir_now_ms() < until_ms)
            weir_loop_step(lab.loop, 5);
        storage_lab_kill(&lab);
    }
    storage_lab_start(&lab);
    stormy[0] = digest_of(1, storage_lab_await(&lab, "mails", 1).sequence, &counts[0]);
    stormy[1] = digest_of(2, storage_lab_await(&lab, "clicks", 1).sequence, &counts[1]);
    assert_true(calm[0] == stormy[0]);
    assert_true(calm[1] == stormy[1]);
    (void)storage_lab_feed(&lab, 1, "test", 0);
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, MAILS - 1), &sample));
    assert_non_null(storage_lab_read(&lab, weir_sample_id(2, 0, LINES - 1), &sample));
}

static void postgres_may_die_while_files_come_in(void **state)
{
    size_t count;

    (void)state;
    write_source();
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, DATASETS), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        weir_test_postgres_kill(&lab.postgres);
        weir_test_postgres_resume(&lab.postgres);
    }
    (void)digest_of(1, storage_lab_await(&lab, "mails", 1).sequence, &count);
    assert_int_equal(count, MAILS);
    (void)digest_of(2, storage_lab_await(&lab, "clicks", 1).sequence, &count);
    assert_int_equal(count, LINES);
}

/* The commit that ends a file is one of the first after a start, and takes effect though its answer is lost. */
static void a_copy_goes_with_its_file_though_no_answer_to_the_commit_comes(void **state)
{
    static const char *const FAULTS[] = {"storage.batch.committed=1", "storage.batch.committed=2",
                                         "storage.batch.committed=3"};

    (void)state;
    write_source();
    for (size_t i = 0; i < WEIR_COUNT(FAULTS); i++)
        storage_lab_write(&lab, weir_arena_format(lab.arena, "clicks/%zu.csv", i),
                          "ts,kind,user\n1,kind1,somebody\n");
    storage_lab_start(&lab);
    storage_lab_must_declare(&lab, DATASETS);
    (void)storage_lab_await_counts(&lab, "clicks", LINES + WEIR_COUNT(FAULTS), 0);
    for (size_t i = 0; i < WEIR_COUNT(FAULTS); i++) {
        const char *name = weir_arena_format(lab.arena, "clicks/%zu.csv", i);
        const char *copy = weir_arena_format(lab.arena, "data/storage/%s", name);
        int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS / 6;

        storage_lab_kill(&lab);
        storage_lab_remove(&lab, name);
        lab.faults = FAULTS[i];
        storage_lab_start(&lab);
        (void)storage_lab_await_counts(&lab, "clicks", LINES + WEIR_COUNT(FAULTS) - 1 - i, 0);
        while (access(storage_lab_path(&lab, copy), F_OK) == 0 && weir_now_ms() < limit_ms)
            weir_loop_step(lab.loop, 5);
        assert_int_not_equal(access(storage_lab_path(&lab, copy), F_OK), 0);
    }
}

static const char COPIED[] = "  - name: notes\n"
                             "    source: {path: %s/notes, format: files, import: copy,\n"
                             "             settle: 0ms}\n"
                             "    time: {from: mtime}\n";

/* Takes in one note, then starts storage upon what `change` does to it, and upon another note: the first batch that
 * tells of that fails, and the one that takes in the other has told of both. */
static struct msg_dataset_is change_note(void (*change)(void))
{
    storage_lab_write(&lab, "notes/a.txt", "before");
    storage_lab_start(&lab);
    storage_lab_must_declare(&lab, COPIED);
    (void)storage_lab_await_counts(&lab, "notes", 1, 0);
    storage_lab_kill(&lab);
    change();
    storage_lab_write(&lab, "notes/b.txt", "other.");
    lab.faults = "storage.batch.commit=1";
    storage_lab_start(&lab);
    return storage_lab_await_counts(&lab, "notes", 2, 0);
}

static void write_again(void)
{
    storage_lab_write(&lab, "notes/a.txt", "after.");
}

static void touch(void)
{
    static const struct timespec TIMES[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

    assert_int_equal(utimensat(AT_FDCWD, storage_lab_path(&lab, "source/notes/a.txt"), TIMES, 0),
                     0);
}

static void a_sample_keeps_its_bytes_though_the_batch_that_replaces_it_fails(void **state)
{
    uint32_t before, after;

    (void)state;
    assert_int_equal(change_note(write_again).replaced, 1);
    assert_null(storage_lab_read(&lab, weir_sample_id(1, 0, 0), &before));
    assert_int_equal(before, WEIR_SAMPLE_GONE);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &after), "after.");
}

static void a_touched_file_keeps_its_sample_though_the_batch_that_says_so_fails(void **state)
{
    const char *text;
    uint32_t sample;

    (void)state;
    assert_int_equal(change_note(touch).ingested, 2);
    text = storage_lab_read(&lab, weir_sample_id(1, 0, 0), &sample);
    assert_non_null(text);
    assert_string_equal(text, "before");
}

/* ---- death in the middle of an answer ---- */

/* Somebody who reads one sample, and lives longer than the storage that is asked. */
struct reader {
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    struct weir_segment *lent;
    uint64_t written; /* as answered */
    char *text;       /* NULL: not answered yet */
};

static void on_read(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct reader *reader = owner;
    const struct msg_read_is *answer;
    struct weir_bytes bytes;

    assert_null(err);
    answer = reply->message;
    bytes = weir_segment_answer(reader->lent, answer->written, reply->frames);
    reader->written = answer->written;
    reader->text = weir_strndup((const char *)bytes.at, bytes.size);
}

static void open_reader(struct reader *reader)
{
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(storage_lab_path(&lab, "run"), "storage");
    struct weir_error err;

    *reader = (struct reader){.loop = weir_loop_new(), .lent = weir_segment_new(4096)};
    assert_int_equal(weir_rpc_connect(reader->loop, endpoint, NULL, NULL, &reader->peer, &err),
                     WEIR_OK);
}

static void request_row(struct reader *reader, uint64_t id)
{
    free(reader->text);
    reader->text = NULL;
    weir_rpc_call(reader->peer, MSG_read,
                  &(struct msg_read){.ids = {&id, 1}, .loan = weir_segment_lend(reader->lent)},
                  60000, on_read, reader);
}

static void close_reader(struct reader *reader)
{
    free(reader->text);
    weir_rpc_peer_close(reader->peer);
    weir_loop_free(reader->loop);
    weir_segment_free(reader->lent);
}

static void a_reader_gets_its_bytes_though_storage_dies_while_it_writes_them(void **state)
{
    struct reader reader;
    uint64_t id = weir_sample_id(1, 0, 1);

    (void)state;
    storage_lab_write(&lab, "rows/a.csv", "one\ntwo\n");
    lab.faults = "storage.read.loan=!1";
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab,
                                         "  - name: rows\n"
                                         "    source: {path: %s/rows, format: csv, header: false,\n"
                                         "             import: copy}\n"
                                         "    time: {from: mtime}\n"),
                     WEIR_OK);
    (void)storage_lab_await(&lab, "rows", 1);
    open_reader(&reader);
    request_row(&reader, id);
    while (!storage_lab_has_died(&lab))
        weir_loop_step(reader.loop, 5);
    lab.faults = NULL;
    storage_lab_start(&lab);
    for (int round = 0; round < 2; round++) {
        while (reader.text == NULL)
            weir_loop_step(reader.loop, 5);
        assert_string_equal(reader.text, "two");
        assert_int_equal(reader.written, round * 3); /* that loan may be written by the dead */
        if (round == 0)
            request_row(&reader, id);
    }
    close_reader(&reader);
}

int main(void)
{
#define CASE(test) STORAGE_CASE_AFTER(&lab, storage_lab_setup_stopped, test)
    const struct CMUnitTest tests[] = {
        CASE(ids_do_not_depend_on_deaths),
        CASE(postgres_may_die_while_files_come_in),
        CASE(a_copy_goes_with_its_file_though_no_answer_to_the_commit_comes),
        CASE(a_sample_keeps_its_bytes_though_the_batch_that_replaces_it_fails),
        CASE(a_touched_file_keeps_its_sample_though_the_batch_that_says_so_fails),
        CASE(a_reader_gets_its_bytes_though_storage_dies_while_it_writes_them),
    };
    return storage_lab_run(&lab, "storage: deaths", tests, WEIR_COUNT(tests));
}
