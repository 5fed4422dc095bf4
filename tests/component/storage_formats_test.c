/* Container formats against the real service: ingested, read, and erased with all that belongs to a
 * sample, so that the file's own tools still read the rest. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/component/storage_lab.h"
#include "tests/support/format_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char TAR[] = "  - name: shards\n"
                          "    source: {path: %%s, format: tar, sample: txt, on_erase: scrub,\n"
                          "             import: %s, settle: 0ms}\n"
                          "    time: {from: field, field: json.at}\n"
                          "    label: {field: cls, type: int}\n"
                          "    subject: {field: json.who}\n";
static const char RECORDS[] = "  - name: records\n"
                              "    source: {path: %s, format: tfrecord, on_erase: scrub,\n"
                              "             settle: 0ms}\n"
                              "    time: {from: mtime}\n"
                              "    subject: {field: who}\n";
static const char ANNA[] = "anna@example.org";

static struct storage_lab lab;

/* Appends: a file that is cut first may be seen so. */
static void put_file(const char *name, const struct weir_buf *content)
{
    FILE *file = fopen(storage_lab_path(&lab, name), "ab");

    assert_non_null(file);
    assert_int_equal(fwrite(content->at, 1, content->size, file), content->size);
    assert_int_equal(fclose(file), 0);
}

static void read_file(const char *name, struct weir_buf *ret_content)
{
    FILE *file = fopen(storage_lab_path(&lab, name), "rb");
    uint8_t block[4096];
    size_t got;

    assert_non_null(file);
    while ((got = fread(block, 1, sizeof(block), file)) > 0)
        weir_buf_append(ret_content, block, got);
    fclose(file);
}

/* Four samples, Anna's the second and the fourth; her name stands beside the payload, and in a path. */
static void put_shard(void)
{
    static const uint8_t ZEROS[2 * TAR_BLOCK];
    static const char *const WHO[] = {"bob@example.org", ANNA, "carl@example.org", ANNA};
    WEIR_AUTO_BUF shard = {0};

    for (int i = 0; i < 4; i++) {
        char name[96], text[128];

        snprintf(name, sizeof(name), "%s/%d.cls", i % 2 ? "of-anna" : "others", i);
        put_member(name, weir_bytes_of(i % 2 ? "7" : "3"), &shard);
        snprintf(name, sizeof(name), "%s/%d.txt", i % 2 ? "of-anna" : "others", i);
        snprintf(text, sizeof(text), "the letter number %d, which says that %d herons came", i,
                 i * i + 1000);
        put_member(name, weir_bytes_of(text), &shard);
        snprintf(name, sizeof(name), "%s/%d.json", i % 2 ? "of-anna" : "others", i);
        snprintf(text, sizeof(text), "{\"at\": %d, \"who\": \"%s\"}", 100 + i, WHO[i]);
        put_member(name, weir_bytes_of(text), &shard);
    }
    weir_buf_append(&shard, ZEROS, sizeof(ZEROS));
    put_file("source/shard.tar", &shard);
}

static void declare_shard(const char *import)
{
    WEIR_AUTO_FREE char *yaml = weir_format(TAR, import);

    put_shard();
    assert_int_equal(storage_lab_declare(&lab, yaml), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "shards", 1).live, 4);
}

static void check_erased_shard(const char *folder)
{
    uint32_t state;

    assert_false(storage_lab_holds(&lab, folder, ANNA));
    assert_false(storage_lab_holds(&lab, folder, "of-anna"));
    assert_false(storage_lab_holds(&lab, folder, "1001 herons"));
    assert_true(storage_lab_holds(&lab, folder, "1004 herons"));
    assert_null(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &state));
    assert_int_equal(state, WEIR_SAMPLE_ERASED);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 2), &state),
                        "the letter number 2, which says that 1004 herons came");
}

static void all_parts_of_an_erased_tar_sample_are_gone(void **state)
{
    static const char *const IMPORTS[][2] = {{"reference", "source"}, {"copy", "data"}};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(IMPORTS); i++) {
        struct msg_erase_is erasure;
        struct msg_dataset_is is;

        if (i > 0) {
            storage_lab_teardown(state);
            storage_lab_setup(state);
        }
        declare_shard(IMPORTS[i][0]);
        erasure = storage_lab_erase(&lab, "u1", ANNA, "verified");
        assert_int_equal(erasure.samples, 2);
        assert_int_equal(erasure.found, 0);
        check_erased_shard(IMPORTS[i][1]);
        storage_lab_kill(&lab);
        storage_lab_start(&lab);
        is = storage_lab_await(&lab, "shards", 2);
        assert_int_equal(is.live, 2);
        assert_int_equal(is.erased, 2);
        assert_int_equal(is.quarantined, 0);
        check_erased_shard(IMPORTS[i][1]);
    }
}

/* A tf.train.Example with the feature "who". */
static void put_record(const char *who, struct weir_buf *out)
{
    WEIR_AUTO_BUF features = {0}, example = {0};

    put_feature("who", who, &features);
    put_field(0x0a, &features, &example);
    put_framed(weir_buf_view(&example), out);
}

static void an_erased_tfrecord_leaves_right_checksums(void **state)
{
    WEIR_AUTO_BUF file = {0}, after = {0}, more = {0};
    struct msg_dataset_is is;

    (void)state;
    put_record("bob@example.org", &file);
    put_record(ANNA, &file);
    put_record("carl@example.org", &file);
    put_file("source/a.tfrecord", &file);
    assert_int_equal(storage_lab_declare(&lab, RECORDS), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "records", 1).live, 3);
    assert_int_equal(storage_lab_erase(&lab, "u1", ANNA, "verified").ids.count, 1);
    assert_false(storage_lab_holds(&lab, "source", ANNA));

    read_file("source/a.tfrecord", &after);
    assert_int_equal(after.size, file.size);
    put_record("dora@example.org", &more);
    put_file("source/a.tfrecord", &more); /* grown: what is there is passed over */
    is = storage_lab_await(&lab, "records", 3);
    assert_int_equal(is.live, 3);
    assert_int_equal(is.erased, 1);
    assert_int_equal(is.quarantined, 0);
}

/* ---- deaths while bytes are overwritten ---- */

/* Several pages, each of which says what it is. */
static void put_pages(const char *what, struct weir_buf *out)
{
    for (int i = 0; i < 1500; i++)
        weir_buf_printf(out, "%s%04d ", what, i);
}

static void put_large_record(int number, const char *who, const char *text, struct weir_buf *out)
{
    WEIR_AUTO_BUF features = {0}, example = {0};

    (void)number;
    put_feature("who", who, &features);
    put_feature("text", text, &features);
    put_field(0x0a, &features, &example);
    put_framed(weir_buf_view(&example), out);
}

static void put_large_group(int number, const char *who, const char *text, struct weir_buf *out)
{
    char name[32], json[96];

    snprintf(name, sizeof(name), "%d.json", number);
    snprintf(json, sizeof(json), "{\"at\": %d, \"who\": \"%s\"}", 100 + number, who);
    put_member(name, weir_bytes_of(json), out);
    snprintf(name, sizeof(name), "%d.cls", number);
    put_member(name, weir_bytes_of("3"), out);
    snprintf(name, sizeof(name), "%d.txt", number);
    put_member(name, weir_bytes_of(text), out);
}

static void put_large_line(int number, const char *who, const char *text, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"at\": %d, \"who\": \"%s\", \"text\": \"%s\"}\n", number + 1, who,
                    text);
}

struct written {
    const char *who, *what;
};

struct victim {
    const char *dataset, *file, *yaml;
    void (*put)(int number, const char *who, const char *text, struct weir_buf *out);
    size_t end_bytes; /* zeros after the last sample */
};

static void put_all(const struct victim *victim, const struct written written[3],
                    struct weir_buf *out)
{
    static const uint8_t ZEROS[2 * TAR_BLOCK];

    for (int i = 0; i < 3; i++) {
        WEIR_AUTO_BUF text = {0};

        put_pages(written[i].what, &text);
        victim->put(i, written[i].who, weir_buf_text(&text), out);
    }
    weir_buf_append(out, ZEROS, victim->end_bytes);
}

static void die_and_go_on(const struct victim *victim, const char *fault)
{
    static const struct written WRITTEN[] = {
        {"bob@example.org", "ducks"}, {ANNA, "herons"}, {"carl@example.org", "geese"}};
    WEIR_AUTO_BUF file = {0}, after = {0};
    struct msg_erase_accepted accepted;
    const char *anna = ANNA;
    struct msg_dataset_is is;
    uint32_t state;

    put_all(victim, WRITTEN, &file);
    put_file(victim->file, &file);
    storage_lab_kill(&lab);
    lab.faults = fault;
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, victim->yaml), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, victim->dataset, 1).live, 3);
    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept,
                            &(struct msg_erase_accept){.uuid = "u1", .subjects = {&anna, 1}},
                            MSG_erase_accepted, &accepted),
        WEIR_OK);
    storage_lab_await_death(&lab);
    assert_int_equal(storage_lab_holds(&lab, "source", "herons1499"),
                     strstr(fault, "scrub") == NULL);
    lab.faults = NULL;
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_await_erasure(&lab, accepted.erasure, "verified").remarks.count,
                     0);
    assert_false(storage_lab_holds(&lab, "source", "herons"));
    assert_false(storage_lab_holds(&lab, "source", ANNA));
    read_file(victim->file, &after);
    assert_int_equal(after.size, file.size);
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 0), &state));
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 2), &state));
    is = storage_lab_dataset(&lab, victim->dataset);
    assert_int_equal(is.live, 2);
    assert_int_equal(is.replaced, 0);
    assert_int_equal(is.quarantined, 0);
}

static void a_death_at_any_page_of_a_scrub_is_made_good(void **state)
{
    WEIR_AUTO_FREE char *shards = weir_format(TAR, "reference");
    const struct victim victims[] = {
        {"shards", "source/shard.tar", shards, put_large_group, 2 * TAR_BLOCK},
        {"records", "source/a.tfrecord", RECORDS, put_large_record, 0},
    };
    static const char *const FAULTS[] = {"storage.erase.overwrite=!1", "storage.erase.overwrite=!2",
                                         "storage.erase.overwrite=!3", "storage.erase.scrub=!1"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(victims); i++) {
        for (size_t k = 0; k < WEIR_COUNT(FAULTS); k++) {
            if (i + k > 0) {
                storage_lab_teardown(state);
                storage_lab_setup(state);
            }
            die_and_go_on(&victims[i], FAULTS[k]);
        }
    }
}

/* Anna's first record, and her last: another follows the one that is stopped half-way. */

static void fail_and_go_on(const struct victim *victim, const char *fault)
{
    static const struct written WRITTEN[] = {
        {ANNA, "herons"}, {"carl@example.org", "geese"}, {ANNA, "storks"}};
    WEIR_AUTO_BUF file = {0}, after = {0};
    struct msg_erase_is erasure;
    uint32_t state;

    put_all(victim, WRITTEN, &file);
    put_file(victim->file, &file);
    storage_lab_kill(&lab);
    lab.faults = fault;
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, victim->yaml), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, victim->dataset, 1).live, 3);
    erasure = storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_int_equal(erasure.ids.count, 2);
    assert_int_equal(erasure.remarks.count, 0);
    assert_int_equal(erasure.found, 0);
    assert_false(storage_lab_holds(&lab, "source", "herons"));
    assert_false(storage_lab_holds(&lab, "source", "storks"));
    assert_true(storage_lab_holds(&lab, "source", "geese"));
    read_file(victim->file, &after);
    assert_int_equal(after.size, file.size);
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &state));
    assert_int_equal(storage_lab_dataset(&lab, victim->dataset).replaced, 0);
    assert_int_equal(access(storage_lab_path(&lab, "data/scrubbing"), F_OK), -1);
}

static void a_write_that_fails_in_a_sample_leaves_nothing_of_it(void **state)
{
    static const char LINES[] =
        "  - name: lines\n"
        "    source: {path: %s, format: jsonl, settle: 0ms, on_erase: scrub}\n"
        "    time: {from: field, field: at}\n"
        "    subject: {field: who}\n";
    static const struct victim VICTIMS[] = {
        {"records", "source/a.tfrecord", RECORDS, put_large_record, 0},
        /* The rest of a line is no record that could be told from others'. */
        {"lines", "source/a.jsonl", LINES, put_large_line, 0},
    };
    static const char *const FAULTS[] = {"storage.erase.overwrite=1", "storage.erase.overwrite=2"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(VICTIMS); i++) {
        for (size_t k = 0; k < WEIR_COUNT(FAULTS); k++) {
            if (i + k > 0) {
                storage_lab_teardown(state);
                storage_lab_setup(state);
            }
            fail_and_go_on(&VICTIMS[i], FAULTS[k]);
        }
    }
}

static const char PICTURES[] =
    "  - name: pictures\n"
    "    source: {path: %s, format: files, sidecar: .json, settle: 0ms}\n"
    "    time: {from: sidecar, field: at}\n"
    "    label: {from: folder, classes: [cat, dog]}\n";

static void a_picture_waits_for_its_sidecar_and_is_named_by_its_folder(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    assert_int_equal(mkdir(storage_lab_path(&lab, "source/dog"), 0755), 0);
    assert_int_equal(mkdir(storage_lab_path(&lab, "source/cow"), 0755), 0);
    storage_lab_write(&lab, "dog/1.jpg", "a dog");
    storage_lab_write(&lab, "dog/1.json", "{\"at\": \"2002-08-22T11:36:23Z\"}");
    storage_lab_write(&lab, "dog/2.jpg", "another");
    storage_lab_write(&lab, "cow/3.jpg", "neither");
    storage_lab_write(&lab, "cow/3.json", "{\"at\": 7}");
    assert_int_equal(storage_lab_declare(&lab, PICTURES), WEIR_OK);
    is = storage_lab_await(&lab, "pictures", 1);
    assert_int_equal(is.live, 1);
    assert_int_equal(is.quarantined, 2);
    storage_lab_write(&lab, "dog/2.json", "{\"at\": 8}");
    storage_lab_stop(&lab);
    storage_lab_start(&lab); /* which scans */
    is = storage_lab_await(&lab, "pictures", 2);
    assert_int_equal(is.live, 2);
    assert_int_equal(is.quarantined, 1);
}

static const char OWNED[] =
    "  - name: pictures\n"
    "    source: {path: %s, format: files, sidecar: .json, settle: 0ms, on_erase: unlink}\n"
    "    time: {from: sidecar, field: at}\n"
    "    subject: {from: sidecar, field: who}\n";

/* Scans the whole source again, as a start does: such scans look at sidecars. */
static void look_again(void)
{
    storage_lab_stop(&lab);
    storage_lab_start(&lab);
}

static void a_sidecar_that_changes_replaces_its_sample(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "1.jpg", "a heron");
    storage_lab_write(&lab, "1.json", "{\"at\": 7, \"who\": \"bob\"}");
    storage_lab_write(&lab, "2.jpg", "a duck");
    storage_lab_write(&lab, "2.json", "{\"at\": 8, \"who\": \"carl\"}");
    assert_int_equal(storage_lab_declare(&lab, OWNED), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "pictures", 1).live, 2);
    storage_lab_write(&lab, "1.json", "{\"at\": 7, \"who\": \"anna@example.org\"}");
    look_again();
    is = storage_lab_await(&lab, "pictures", 3);
    assert_int_equal(is.live, 2);
    assert_int_equal(is.replaced, 1);
    storage_lab_remove(&lab, "2.json");
    look_again();
    is = storage_lab_await(&lab, "pictures", 4);
    assert_int_equal(is.live, 1);
    assert_int_equal(is.removed, 1);
    assert_int_equal(is.quarantined, 1);
    storage_lab_erase(&lab, "u1", "bob", "verified"); /* the picture is another's by now */
    assert_int_equal(access(storage_lab_path(&lab, "source/1.jpg"), F_OK), 0);
    assert_int_equal(access(storage_lab_path(&lab, "source/1.json"), F_OK), 0);
    assert_int_equal(storage_lab_dataset(&lab, "pictures").live, 1);
}

static void an_erased_picture_takes_its_sidecar_along(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "1.jpg", "the heron that Anna saw");
    storage_lab_write(&lab, "1.json", "{\"at\": 7, \"who\": \"anna@example.org\"}");
    storage_lab_write(&lab, "2.jpg", "a duck");
    storage_lab_write(&lab, "2.json", "{\"at\": 8, \"who\": \"carl\"}");
    assert_int_equal(storage_lab_declare(&lab, OWNED), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "pictures", 1).live, 2);
    assert_int_equal(storage_lab_erase(&lab, "u1", ANNA, "verified").ids.count, 1);
    assert_int_equal(access(storage_lab_path(&lab, "source/1.jpg"), F_OK), -1);
    assert_int_equal(access(storage_lab_path(&lab, "source/1.json"), F_OK), -1);
    assert_int_equal(access(storage_lab_path(&lab, "source/2.json"), F_OK), 0);
    assert_false(storage_lab_holds(&lab, "source", ANNA));
    look_again();
    is = storage_lab_await(&lab, "pictures", 2);
    assert_int_equal(is.live, 1);
    assert_int_equal(is.erased, 1);
    assert_int_equal(is.quarantined, 0);
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(all_parts_of_an_erased_tar_sample_are_gone),
        CASE(an_erased_tfrecord_leaves_right_checksums),
        CASE(a_death_at_any_page_of_a_scrub_is_made_good),
        CASE(a_write_that_fails_in_a_sample_leaves_nothing_of_it),
        CASE(a_picture_waits_for_its_sidecar_and_is_named_by_its_folder),
        CASE(a_sidecar_that_changes_replaces_its_sample),
        CASE(an_erased_picture_takes_its_sidecar_along),
    };
    return storage_lab_run(&lab, "storage: container formats", tests, WEIR_COUNT(tests));
}
