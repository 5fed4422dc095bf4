/* The index of subjects and keys against the real service: runs are merged while it works, deaths in a
 * merge lose nothing, an erasure finds its samples before, during and after. */
#include "tests/component/storage_lab.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { FILES = 20 };

static const char CLICKS[] = "  - name: clicks\n"
                             "    source: {path: %s, format: jsonl, on_erase: scrub, settle: 0ms}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n"
                             "    key: {field: click}\n";
static const char MERGED[] =
    "DO $$ BEGIN FOR i IN 1..600 LOOP "
    "EXIT WHEN NOT EXISTS (SELECT FROM storage.run GROUP BY kind HAVING count(*) >= 8 "
    "OR NOT bool_and(is_complete)) AND EXISTS (SELECT FROM storage.run WHERE count >= 8); "
    "PERFORM pg_sleep(0.05); END LOOP; "
    "ASSERT (SELECT count(*) < 16 AND sum(count) = 40 FROM storage.run); "
    "ASSERT (SELECT count(*) FROM storage.run) = "
    "(SELECT count(DISTINCT run) FROM storage.run_segment); END $$";

static struct storage_lab lab;

/* A sample a file, each committed before the next is there; user-0 … user-4 in turn. */
static void write_click(int i)
{
    WEIR_AUTO_FREE char *name = weir_format("c%02d.jsonl", i);
    WEIR_AUTO_FREE char *line =
        weir_format("{\"ts\":%d,\"user\":\"user-%d\",\"click\":\"click-%d\"}\n", i + 1, i % 5, i);

    storage_lab_write(&lab, name, line);
    (void)storage_lab_await(&lab, "clicks", (uint64_t)i + 1);
}

static void erase_user_three(const char *until)
{
    struct msg_erase_is erasure = storage_lab_erase(&lab, "u1", "user-3", until);
    uint32_t sample;

    assert_int_equal(erasure.samples, FILES / 5);
    for (size_t i = 0; i < erasure.samples; i++)
        assert_int_equal(erasure.ids.at[i], weir_sample_id(1, 0, (uint32_t)(3 + 5 * i)));
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 2), &sample));
}

static void a_subject_is_found_in_merged_runs(void **state)
{
    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    for (int i = 0; i < FILES; i++)
        write_click(i);
    weir_test_postgres_sql(&lab.postgres, MERGED);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    erase_user_three("verified");
    weir_test_postgres_sql(
        &lab.postgres,
        "DO $$ BEGIN ASSERT (SELECT sum(count) = 32 FROM storage.run); END $$"); /* of both kinds */
}

static void a_death_in_a_merge_loses_nothing(void **state)
{
    static const char *const FAULTS[] = {"storage.key.merge=!1", "storage.key.merge=!2",
                                         "storage.key.step=!1", "storage.key.step=!2",
                                         "storage.key.merge=1"};

    (void)state;
    for (size_t f = 0; f < WEIR_COUNT(FAULTS); f++) {
        if (f > 0) {
            storage_lab_teardown(state);
            storage_lab_setup(state);
        }
        assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
        for (int i = 0; i < 7; i++)
            write_click(i);
        storage_lab_kill(&lab);
        lab.faults = FAULTS[f];
        storage_lab_start(&lab);
        storage_lab_write(&lab, "c07.jsonl", /* the eighth: enough to merge */
                          "{\"ts\":8,\"user\":\"user-2\",\"click\":\"click-7\"}\n");
        if (strchr(FAULTS[f], '!') != NULL)
            storage_lab_await_death(&lab);
        lab.faults = NULL;
        if (strchr(FAULTS[f], '!') != NULL)
            storage_lab_start(&lab);
        (void)storage_lab_await(&lab, "clicks", 8);
        for (int i = 8; i < FILES; i++)
            write_click(i);
        weir_test_postgres_sql(&lab.postgres, MERGED);
        erase_user_three("tombstoned");
    }
}

static void a_store_of_before_is_taken_over(void **state)
{
    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    for (int i = 0; i < FILES; i++)
        write_click(i);
    weir_test_postgres_sql(&lab.postgres, MERGED);
    storage_lab_kill(&lab);
    /* Two entries in the words of the old table, for samples that are there. */
    weir_test_postgres_sql(
        &lab.postgres,
        "INSERT INTO storage.subject_run (dataset, entries) VALUES (1, "
        "'\\x0100000000000000 0200000000100000 0200000000000000 0300000000100000'::bytea)");
    storage_lab_start(&lab);
    (void)storage_lab_await(&lab, "clicks", FILES);
    weir_test_postgres_sql(&lab.postgres,
                           "DO $$ BEGIN ASSERT (SELECT count(*) = 0 FROM storage.subject_run); "
                           "ASSERT (SELECT sum(count) = 42 FROM storage.run); END $$");
    erase_user_three("tombstoned");
}

static void a_damaged_run_is_said_to_be_so(void **state)
{
    const char *subject = "user-0";
    struct msg_erase_accepted accepted;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    write_click(0);
    weir_test_postgres_sql(&lab.postgres, "UPDATE storage.run_segment SET bytes = '\\x0102'");
    weir_test_postgres_sql(&lab.postgres, "UPDATE storage.run SET filter = ''");
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept,
                            &(struct msg_erase_accept){.uuid = "u1", .subjects = {&subject, 1}},
                            MSG_erase_accepted, &accepted),
        WEIR_CORRUPT);
    assert_non_null(strstr(lab.err.text, "segment"));
    (void)storage_lab_dataset(&lab, "clicks"); /* and it is still there */
}

/* ---- who is meant ---- */

static const char PEOPLE[] = "  - name: people\n"
                             "    source: {path: %s, format: csv, on_erase: scrub, settle: 0ms}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n"
                             "    key: {field: row}\n";
enum { PEOPLE_COUNT = 40 };

/* PEOPLE_COUNT rows from number `first` on. */
static void write_people(const char *name, int first)
{
    WEIR_AUTO_BUF text = {0};

    weir_buf_append_text(&text, "ts,user,row\n");
    for (int i = first; i < first + PEOPLE_COUNT; i++)
        weir_buf_printf(&text, "%d,user-%d,row-%d\n", i, i, i);
    storage_lab_write(&lab, name, weir_buf_text(&text));
}

static struct msg_erase_is erase(const struct msg_erase_accept *asked, const char *until)
{
    struct msg_erase_accepted accepted;

    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept, asked, MSG_erase_accepted, &accepted), WEIR_OK);
    return storage_lab_await_erasure(&lab, accepted.erasure, until);
}

/* Eight hashes for forty people: each is shared by five. */
static void a_collision_of_hashes_harms_nobody(void **state)
{
    const char *subject = "user-3", *key = "row-17";
    struct msg_erase_is erasure;
    struct msg_dataset_is is;
    struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

    (void)state;
    storage_lab_kill(&lab);
    lab.faults = "storage.secret.narrow=1";
    storage_lab_start(&lab);
    write_people("a.csv", 0);
    assert_int_equal(storage_lab_declare(&lab, PEOPLE), WEIR_OK);
    (void)storage_lab_await(&lab, "people", 1);
    erasure = erase(
        &(struct msg_erase_accept){.uuid = "u1", .subjects = {&subject, 1}, .keys = {&key, 1}},
        "verified");
    assert_int_equal(erasure.samples, 2);
    assert_int_equal(erasure.ids.at[0], weir_sample_id(1, 0, 3));
    assert_int_equal(erasure.ids.at[1], weir_sample_id(1, 0, 17));
    assert_false(storage_lab_holds(&lab, "source", "user-3,"));
    assert_true(storage_lab_holds(&lab, "source", "user-4,"));

    storage_lab_kill(&lab); /* an older file: what was erased stays out, others come in */
    write_people("b.csv", 2);
    assert_int_equal(utimensat(AT_FDCWD, storage_lab_path(&lab, "source/b.csv"), old, 0), 0);
    storage_lab_start(&lab);
    is = storage_lab_await(&lab, "people", 4);
    assert_int_equal(is.blocked, 2);
    assert_int_equal(is.live, 2 * PEOPLE_COUNT - 4);
    weir_test_postgres_sql(&lab.postgres, "DO $$ BEGIN ASSERT (SELECT sum(count) = 152 "
                                          "FROM storage.run); END $$");
    lab.faults = NULL;
}

static void a_plan_says_what_an_erasure_would_mean_and_keeps_nothing(void **state)
{
    const char *subject = "user-3", *key = "row-17", *nobody = "user-99";
    const uint64_t ids[] = {weir_sample_id(1, 0, 5), weir_sample_id(1, 0, 5000)};
    struct msg_found found;

    (void)state;
    write_people("a.csv", 0);
    assert_int_equal(storage_lab_declare(&lab, PEOPLE), WEIR_OK);
    (void)storage_lab_await(&lab, "people", 1);
    assert_int_equal(storage_lab_request(&lab, MSG_find,
                                         &(struct msg_find){.dataset = "people",
                                                            .subjects = {&subject, 1},
                                                            .keys = {&key, 1},
                                                            .ids = {ids, 2}},
                                         MSG_found, &found),
                     WEIR_OK);
    assert_int_equal(found.ids.count, 3);
    assert_int_equal(found.ids.at[1], weir_sample_id(1, 0, 5));
    assert_int_equal(found.bytes,
                     2 * strlen("3,user-3,row-3\n") + strlen("17,user-17,row-17\n") - 3);
    assert_int_equal(
        storage_lab_request(&lab, MSG_find,
                            &(struct msg_find){.dataset = "", .subjects = {&nobody, 1}}, MSG_found,
                            &found),
        WEIR_OK);
    assert_int_equal(found.ids.count, 0);
    assert_int_equal(
        storage_lab_request(&lab, MSG_find, &(struct msg_find){.dataset = ""}, MSG_found, &found),
        WEIR_INVALID);
    assert_int_equal(storage_lab_request(&lab, MSG_find,
                                         &(struct msg_find){.dataset = "x", .keys = {&key, 1}},
                                         MSG_found, &found),
                     WEIR_INVALID);
    assert_int_equal(storage_lab_dataset(&lab, "people").live, PEOPLE_COUNT);
    assert_false(storage_lab_holds(&lab, lab.postgres.dir.path, "user-3"));
    assert_false(storage_lab_holds(&lab, lab.postgres.dir.path, "row-17"));
}

/* ---- duplicates ---- */

#define ORDERS(keep)                                                      \
    "  - name: orders\n"                                                  \
    "    source: {path: %s, format: csv, on_erase: scrub, settle: 0ms}\n" \
    "    time: {from: field, field: ts}\n"                                \
    "    label: {field: paid}\n"                                          \
    "    subject: {field: user}\n"                                        \
    "    key: {field: order}\n"                                           \
    "    duplicates: {keep: " keep "}\n"

static int64_t label_of(uint32_t row)
{
    const struct msg_columns_read asked = {.first = weir_sample_id(1, 0, row), .count = 1};
    struct msg_columns_is answer;

    assert_int_equal(storage_lab_request(&lab, MSG_columns_read, &asked, MSG_columns_is, &answer),
                     WEIR_OK);
    return answer.labels.count == 1 ? answer.labels.at[0] : -1;
}

static void the_first_sample_of_a_key_stays(void **state)
{
    const char *subject = "u2";
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.csv",
                      "ts,order,paid,user\n1,A,1,u1\n2,B,2,u2\n3,A,3,u3\n4,,4,u4\n5,,5,u5\n");
    assert_int_equal(storage_lab_declare(&lab, ORDERS("first")), WEIR_OK);
    is = storage_lab_await(&lab, "orders", 1);
    assert_int_equal(is.live, 4); /* without a key nothing is a duplicate */
    assert_int_equal(is.duplicate, 1);
    assert_int_equal(label_of(0), 1);
    assert_int_equal(label_of(2), 4);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    storage_lab_write(&lab, "b.csv",
                      "ts,order,paid,user\n6,B,6,u6\n7,C,7,u2\n8,B,8,u8\n9,C,9,u9\n");
    is = storage_lab_await(&lab, "orders", 2);
    assert_int_equal(is.live, 5);
    assert_int_equal(is.duplicate, 4);
    assert_int_equal(label_of(4), 7);
    assert_int_equal(
        erase(&(struct msg_erase_accept){.uuid = "u1", .subjects = {&subject, 1}}, "tombstoned")
            .ids.at[1],
        weir_sample_id(1, 0, 4)); /* rows that went took their subjects along */
    storage_lab_write(&lab, "c.csv", "ts,order,paid,user\n10,B,10,u7\n"); /* B is free again */
    is = storage_lab_await(&lab, "orders", 5);
    assert_int_equal(is.duplicate, 4);
    assert_int_equal(label_of(5), 10);
}

static void the_last_sample_of_a_key_takes_the_place_of_earlier_ones(void **state)
{
    struct msg_dataset_is is;
    struct msg_feed_is feed;

    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,order,paid,user\n1,A,1,u\n2,B,2,u\n3,A,3,u\n4,,4,u\n");
    assert_int_equal(storage_lab_declare(&lab, ORDERS("last")), WEIR_OK);
    is = storage_lab_await(&lab, "orders", 2);
    assert_int_equal(is.ingested, 4);
    assert_int_equal(is.replaced, 1);
    assert_int_equal(label_of(0), -1);
    assert_int_equal(label_of(2), 3);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    storage_lab_write(&lab, "b.csv", "ts,order,paid,user\n5,A,5,u\n6,C,6,u\n");
    is = storage_lab_await(&lab, "orders", 4);
    assert_int_equal(is.ingested, 6);
    assert_int_equal(is.replaced, 2);
    assert_int_equal(is.duplicate, 0);
    assert_int_equal(label_of(2), -1);
    assert_int_equal(label_of(4), 5);
    feed = storage_lab_feed(&lab, 1, "test", 0);
    assert_int_equal(feed.kinds.at[3], WEIR_CHANGE_REPLACED);
    assert_int_equal(feed.firsts.at[3], weir_sample_id(1, 0, 2));
}

static void write_orders(int file)
{
    WEIR_AUTO_FREE char *name = weir_format("%d.csv", file);
    WEIR_AUTO_BUF text = {0};

    weir_buf_append_text(&text, "ts,order,paid,user\n");
    for (int i = 0; i < 3000; i++)
        weir_buf_printf(&text, "%d,o%d,%d,u%d\n", i, (i * 7 + file * 100) % 5000, i, i);
    storage_lab_write(&lab, name, weir_buf_text(&text));
}

/* Waits until so many records have come in or were found to be there already; a young file may take a
 * scan of its own. */
static struct msg_dataset_is await_orders(uint64_t count)
{
    struct msg_dataset_is is = storage_lab_dataset(&lab, "orders");

    while (is.ingested + is.duplicate != count) {
        weir_loop_step(lab.loop, 5);
        is = storage_lab_dataset(&lab, "orders");
    }
    return is;
}

/* Four files, the last two of which come in calmly, or at the second attempt. */
static struct msg_dataset_is take_orders(const char *yaml, bool dies)
{
    storage_lab_kill(&lab);
    storage_lab_end(&lab);
    storage_lab_begin(&lab);
    storage_lab_start(&lab);
    write_orders(0);
    write_orders(1);
    assert_int_equal(storage_lab_declare(&lab, yaml), WEIR_OK);
    (void)await_orders(6000);
    storage_lab_kill(&lab);
    lab.faults = dies ? "storage.batch.commit=!1" : NULL;
    write_orders(2);
    write_orders(3);
    storage_lab_start(&lab);
    if (dies) {
        storage_lab_await_death(&lab);
        lab.faults = NULL;
        storage_lab_start(&lab);
    }
    return await_orders(12000);
}

static void duplicates_do_not_depend_on_deaths(void **state)
{
    static const char *const KEEPS[] = {ORDERS("first"), ORDERS("last")};

    (void)state;
    for (size_t k = 0; k < WEIR_COUNT(KEEPS); k++) {
        struct msg_dataset_is calm = take_orders(KEEPS[k], false);
        struct msg_dataset_is stormy = take_orders(KEEPS[k], true);

        assert_int_equal(calm.live, 5000);
        assert_int_equal(calm.ingested + calm.duplicate, 12000);
        assert_int_equal(stormy.live, calm.live);
        assert_int_equal(stormy.duplicate, calm.duplicate);
        assert_int_equal(stormy.replaced, calm.replaced);
    }
}

/* ---- labels that arrive later ---- */

#define ADS                                                                   \
    "  - name: ads\n"                                                         \
    "    source: {path: %s/ads, format: csv, on_erase: scrub, settle: 0ms}\n" \
    "    time: {from: field, field: ts}\n"                                    \
    "    label: {from: updates, type: int}\n"                                 \
    "    key: {field: ad}\n"
#define CLICKS_ON_ADS                                           \
    "  - name: clicks\n"                                        \
    "    source: {path: %s/clicks, format: csv, settle: 0ms}\n" \
    "    time: {from: field, field: ts}\n"                      \
    "    label: {field: clicked}\n"                             \
    "    key: {field: ad}\n"                                    \
    "    updates: ads\n"

static const char LABELLED_ADS[] = ADS CLICKS_ON_ADS;
static const char LABELLED_ADS_OF_USERS[] = ADS "    subject: {field: user}\n" CLICKS_ON_ADS;

static void make_folders(void)
{
    assert_int_equal(mkdir(storage_lab_path(&lab, "source/ads"), 0755), 0);
    assert_int_equal(mkdir(storage_lab_path(&lab, "source/clicks"), 0755), 0);
}

/* Waits until so many samples of ads have their label. */
static struct msg_dataset_is await_labelled(uint64_t count)
{
    struct msg_dataset_is is = storage_lab_dataset(&lab, "ads");

    while (is.live != count) {
        weir_loop_step(lab.loop, 5);
        is = storage_lab_dataset(&lab, "ads");
    }
    return is;
}

/* Were each compared with all others, storage would answer nobody for longer than the lab waits. */
static void one_label_is_given_to_very_many_samples(void **state)
{
    enum { SAMPLES = 300000 };
    WEIR_AUTO_BUF rows = {0};

    (void)state;
    make_folders();
    weir_buf_append_text(&rows, "ts,ad\n");
    for (int i = 0; i < SAMPLES; i++)
        weir_buf_printf(&rows, "%d,A\n", i);
    storage_lab_write(&lab, "ads/a.csv", weir_buf_text(&rows));
    assert_int_equal(storage_lab_declare(&lab, LABELLED_ADS), WEIR_OK);
    (void)storage_lab_await(&lab, "ads", 2);
    storage_lab_write(&lab, "clicks/a.csv", "ts,ad,clicked\n5,A,1\n");
    assert_int_equal(await_labelled(SAMPLES).ingested, 2 * SAMPLES);
}

static bool is_remarked(const struct msg_erase_is *erasure, const char *text)
{
    for (size_t i = 0; i < erasure->remarks.count; i++) {
        if (strstr(erasure->remarks.at[i], text) != NULL)
            return true;
    }
    return false;
}

static void a_sample_waits_for_its_label(void **state)
{
    const char *subject = "u2";
    struct msg_dataset_is is;
    struct msg_erase_is erasure;
    uint32_t sample;

    (void)state;
    make_folders();
    storage_lab_write(&lab, "ads/a.csv", "ts,ad,user\n1,A,u1\n2,B,u2\n3,C,u3\n");
    assert_int_equal(storage_lab_declare(&lab, LABELLED_ADS_OF_USERS), WEIR_OK);
    is = storage_lab_await(&lab, "ads", 2);
    assert_int_equal(is.live, 0);
    assert_int_equal(is.replaced, 3);
    assert_int_equal(label_of(0), -1);

    storage_lab_write(&lab, "clicks/a.csv", "ts,ad,clicked\n5,B,1\n6,A,0\n7,D,9\n8,B,4\n");
    is = await_labelled(2);
    assert_int_equal(is.ingested, 5);
    assert_int_equal(label_of(3) + label_of(4), 4); /* of B the last one counts */
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 3), &sample));

    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    storage_lab_write(&lab, "ads/b.csv", "ts,ad,user\n9,D,u4\n"); /* its label is there already */
    is = await_labelled(3);
    assert_int_equal(is.ingested, 6);
    assert_int_equal(label_of(5), 9);

    storage_lab_write(&lab, "clicks/b.csv", "ts,ad,clicked\n10,B,7\n"); /* and again */
    (void)storage_lab_await(&lab, "clicks", 2);
    is = await_labelled(3);
    assert_int_equal(is.ingested, 7);
    assert_int_equal(label_of(6), 7);

    erasure =
        erase(&(struct msg_erase_accept){.uuid = "u1", .dataset = "ads", .subjects = {&subject, 1}},
              "verified");
    assert_int_equal(erasure.samples, 3); /* B waiting, B with 4, B with 7 */
    assert_int_equal(erasure.found, 0);
    assert_true(is_remarked(&erasure,
                            "dataset 'clicks' has given samples of 'ads' their labels: its "
                            "records name no subject, and are erased by their key"));
    assert_false(storage_lab_holds(&lab, "source", "B,u2"));
    assert_int_equal(storage_lab_dataset(&lab, "ads").live, 2);
}

/* Its new id could not be found by its subject. */
static void a_sample_whose_record_cannot_be_read_keeps_the_label_that_it_has(void **state)
{
    const off_t COMMA = sizeof("ts,ad,user\n1,A") - 1;
    struct msg_dataset_is is;

    (void)state;
    make_folders();
    storage_lab_write(&lab, "ads/a.csv", "ts,ad,user\n1,A,u1\n2,B,u2\n");
    assert_int_equal(storage_lab_declare(&lab, LABELLED_ADS_OF_USERS), WEIR_OK);
    (void)storage_lab_await(&lab, "ads", 2);
    storage_lab_write(&lab, "clicks/a.csv", "ts,ad,clicked\n5,A,1\n6,B,2\n");
    (void)await_labelled(2);
    storage_lab_flip(&lab, "source/ads/a.csv", COMMA);
    storage_lab_write(&lab, "clicks/b.csv", "ts,ad,clicked\n7,A,3\n8,B,4\n");
    (void)storage_lab_await(&lab, "clicks", 2);
    is = storage_lab_dataset(&lab, "ads");
    assert_int_equal(is.ingested, 5);
    assert_int_equal(label_of(4), 4);
    assert_int_equal(is.live, 2);
}

/* Killed when labels are being joined: each is joined once. */
static void a_death_while_labels_arrive_joins_each_once(void **state)
{
    enum { ADS_COUNT = 3000 };
    WEIR_AUTO_BUF ads = {0};
    WEIR_AUTO_BUF clicks = {0};
    struct msg_dataset_is is;

    (void)state;
    make_folders();
    weir_buf_append_text(&ads, "ts,ad,user\n");
    weir_buf_append_text(&clicks, "ts,ad,clicked\n");
    for (int i = 0; i < ADS_COUNT; i++) {
        weir_buf_printf(&ads, "%d,ad-%d,u%d\n", i, i, i % 100);
        weir_buf_printf(&clicks, "%d,ad-%d,%d\n", i, ADS_COUNT - 1 - i, i % 2);
    }
    storage_lab_write(&lab, "ads/a.csv", weir_buf_text(&ads));
    assert_int_equal(storage_lab_declare(&lab, LABELLED_ADS_OF_USERS), WEIR_OK);
    (void)storage_lab_await(&lab, "ads", 2);
    storage_lab_kill(&lab);
    lab.faults = "storage.batch.commit=!1";
    storage_lab_write(&lab, "clicks/a.csv", weir_buf_text(&clicks));
    storage_lab_start(&lab);
    storage_lab_await_death(&lab);
    lab.faults = NULL;
    storage_lab_start(&lab);
    is = await_labelled(ADS_COUNT);
    assert_int_equal(is.ingested, 2 * ADS_COUNT);
    assert_int_equal(is.replaced, ADS_COUNT);
    assert_int_equal(storage_lab_dataset(&lab, "clicks").live, ADS_COUNT);
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(a_subject_is_found_in_merged_runs),
        CASE(a_death_in_a_merge_loses_nothing),
        CASE(a_store_of_before_is_taken_over),
        CASE(a_damaged_run_is_said_to_be_so),
        CASE(a_collision_of_hashes_harms_nobody),
        CASE(a_plan_says_what_an_erasure_would_mean_and_keeps_nothing),
        CASE(the_first_sample_of_a_key_stays),
        CASE(the_last_sample_of_a_key_takes_the_place_of_earlier_ones),
        CASE(duplicates_do_not_depend_on_deaths),
        CASE(one_label_is_given_to_very_many_samples),
        CASE(a_sample_waits_for_its_label),
        CASE(a_sample_whose_record_cannot_be_read_keeps_the_label_that_it_has),
        CASE(a_death_while_labels_arrive_joins_each_once),
    };

    return storage_lab_run(&lab, "storage_keys", tests, WEIR_COUNT(tests));
}
