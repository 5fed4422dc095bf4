/* Everything that happens to files is noticed: each event is a change in the feed, and nothing that cannot be
 * read keeps the rest from going on. */
#include "tests/component/storage_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/support/loop.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUND_MS = 10 };

static const char TEXTS[] = "  - name: texts\n"
                            "    source: {path: %s, format: files, settle: 0ms}\n"
                            "    time: {from: mtime}\n";
static const char COPIES[] = "  - name: texts\n"
                             "    source: {path: %s, format: files, import: copy, settle: 0ms}\n"
                             "    time: {from: mtime}\n";
static const char LINES[] = "  - name: texts\n"
                            "    source: {path: %s, format: jsonl, settle: 0ms}\n"
                            "    time: {from: field, field: ts}\n";
static const char MAILS[] =
    "  - name: texts\n"
    "    source: {path: %s, format: files, include: \"*.txt\", settle: 0ms}\n"
    "    time: {from: manifest}\n"
    "    label: {from: manifest, classes: [ham, spam]}\n";

static struct storage_lab lab;

/* ---- what the tests say ---- */

static const char *source(const char *name)
{
    return weir_arena_format(lab.arena, "%s/source/%s", lab.dir.path, name);
}

static void declare(const char *yaml)
{
    assert_int_equal(storage_lab_declare(&lab, yaml), WEIR_OK);
}

/* Waits until the accounts are these. */
static struct msg_dataset_is await(uint64_t live, uint64_t removed, uint64_t replaced)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct msg_dataset_is is = storage_lab_dataset(&lab, "texts");

    while (!is.scanned || is.live != live || is.removed != removed || is.replaced != replaced) {
        if (weir_now_ms() >= limit_ms)
            fail_msg("live %llu removed %llu replaced %llu, expected %llu %llu %llu",
                     (unsigned long long)is.live, (unsigned long long)is.removed,
                     (unsigned long long)is.replaced, (unsigned long long)live,
                     (unsigned long long)removed, (unsigned long long)replaced);
        weir_loop_step(lab.loop, ROUND_MS);
        is = storage_lab_dataset(&lab, "texts");
    }
    assert_int_equal(is.ingested, is.live + is.removed + is.replaced + is.erased);
    (void)storage_lab_feed(&lab, 1, "test", 0); /* has no gap */
    return is;
}

static void await_complaint(const char *text)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    for (;;) {
        struct msg_dataset_is is = storage_lab_dataset(&lab, "texts");

        for (size_t i = 0; i < is.complaints.count; i++) {
            if (strstr(is.complaints.at[i], text) != NULL)
                return;
        }
        if (weir_now_ms() >= limit_ms)
            fail_msg("no complaint about '%s'", text);
        weir_loop_step(lab.loop, ROUND_MS);
    }
}

static const char *payload(uint32_t row)
{
    uint32_t state;
    const char *text = storage_lab_read(&lab, weir_sample_id(1, 0, row), &state);

    return text != NULL ? text : "";
}

static void await_payload(uint32_t row, const char *text)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (strcmp(payload(row), text) != 0) {
        if (weir_now_ms() >= limit_ms)
            fail_msg("row %u holds '%s', expected '%s'", row, payload(row), text);
        weir_loop_step(lab.loop, ROUND_MS);
    }
}

static enum weir_change_kind last_change(uint64_t *ret_first)
{
    struct msg_feed_is feed = storage_lab_feed(&lab, 1, "test", 0);

    assert_true(feed.kinds.count > 0);
    *ret_first = feed.firsts.at[feed.kinds.count - 1];
    return feed.kinds.at[feed.kinds.count - 1];
}

static void set_mtime(const char *path, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* ---- the defects of others ---- */

static void a_known_path_with_other_content_of_the_same_size_is_replaced(void **state)
{
    uint64_t first;

    (void)state;
    storage_lab_write(&lab, "x", "aaa");
    declare(TEXTS);
    (void)await(1, 0, 0);
    storage_lab_write(&lab, "x", "bbb");
    (void)await(1, 0, 1);
    assert_string_equal(payload(1), "bbb");
    assert_int_equal(last_change(&first), WEIR_CHANGE_ADDED);
}

static void a_known_path_that_grew_is_read_on(void **state)
{
    (void)state;
    storage_lab_write(&lab, "x", "{\"ts\":1}\n");
    declare(LINES);
    (void)await(1, 0, 0);
    storage_lab_append(&lab, "x", "{\"ts\":2}\n");
    (void)await(2, 0, 0);
    assert_string_equal(payload(1), "{\"ts\":2}");
}

static void a_removed_file_is_told(void **state)
{
    uint64_t first;

    (void)state;
    storage_lab_write(&lab, "x", "a");
    storage_lab_write(&lab, "y", "b");
    declare(TEXTS);
    (void)await(2, 0, 0);
    storage_lab_remove(&lab, "x");
    (void)await(1, 1, 0);
    assert_int_equal(last_change(&first), WEIR_CHANGE_REMOVED);
    assert_true(first == weir_sample_id(1, 0, 0));
}

static void a_late_file_with_an_old_mtime_is_as_new_as_any(void **state)
{
    (void)state;
    storage_lab_write(&lab, "m", "now");
    declare(TEXTS);
    (void)await(1, 0, 0);
    storage_lab_write(&lab, ".late", "long ago");
    set_mtime(source(".late"), 86400);
    assert_int_equal(rename(source(".late"), source("a")), 0); /* sorts before the others, too */
    (void)await(2, 0, 0);
    assert_string_equal(payload(1), "long ago");
}

static void a_file_under_its_writing_name_waits_for_its_rename(void **state)
{
    (void)state;
    declare(TEXTS);
    storage_lab_write(&lab, ".x", "ha");
    storage_lab_write(&lab, "other", "o");
    (void)await(1, 0, 0);
    storage_lab_append(&lab, ".x", "lf");
    assert_int_equal(rename(source(".x"), source("x")), 0);
    (void)await(2, 0, 0);
    assert_string_equal(payload(1), "half");
}

static void a_file_that_is_written_slowly_comes_in_once_and_whole(void **state)
{
    int64_t until_ms;

    (void)state;
    declare("  - name: texts\n"
            "    source: {path: %s, format: files, settle: 1500ms}\n"
            "    time: {from: mtime}\n");
    (void)await(0, 0, 0);
    until_ms = weir_now_ms() + 2500;
    while (weir_now_ms() < until_ms) {
        storage_lab_append(&lab, "slow", "x");
        weir_loop_step(lab.loop, ROUND_MS);
    }
    storage_lab_append(&lab, "slow", "!");
    (void)await(1, 0, 0);
    assert_non_null(strchr(payload(0), '!'));
}

/* A log is never left alone. Half of its last line is there at any time; no half is a sample. */
static void follow_a_log(const char *import)
{
    enum { MANY = 60, MORE = 20 };
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    uint64_t written = 0, live = 0;

    storage_lab_write(&lab, "log", "{\"ts\":");
    declare(weir_arena_format(lab.arena,
                              "  - name: texts\n"
                              "    source: {path: %%s, format: jsonl, import: %s, settle: 50ms}\n"
                              "    time: {from: field, field: ts}\n",
                              import));
    while (live < MANY || written < live + MORE) {
        assert_true(weir_now_ms() < limit_ms);
        storage_lab_append(&lab, "log",
                           weir_arena_format(lab.arena, "%d}\n{\"ts\":", (int)written++));
        weir_loop_step(lab.loop, ROUND_MS);
        live = storage_lab_dataset(&lab, "texts").live;
        assert_true(live <= written);
    }
    storage_lab_append(&lab, "log", "0}"); /* and rests, without a newline */
    assert_int_equal(await(written + 1, 0, 0).quarantined, 0);
    assert_string_equal(payload((uint32_t)written), "{\"ts\":0}");
}

static void a_file_that_is_appended_to_all_the_time_comes_in_by_lines(void **state)
{
    (void)state;
    follow_a_log("reference");
}

static void the_copy_of_a_file_that_is_appended_to_follows_it(void **state)
{
    (void)state;
    follow_a_log("copy");
}

static void write_lines(const char *name, char mark, int count)
{
    WEIR_AUTO_BUF text = {0};

    for (int i = 0; i < count; i++)
        weir_buf_printf(&text, "{\"ts\":%d,\"x\":\"%0100d%c\"}\n", i, 0, mark);
    storage_lab_write(&lab, name, weir_buf_text(&text));
}

/* Replaces 60,000 lines by 70,000 others while their copy is indexed window by window. */
static void replace_while_copied(bool by_rename)
{
    enum { OLD_LINES = 60000, NEW_LINES = 70000 };
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct msg_dataset_is is;

    write_lines("x", 'a', OLD_LINES);
    write_lines(".new", 'b', NEW_LINES);
    declare("  - name: texts\n"
            "    source: {path: %s, format: jsonl, import: copy, settle: 0ms}\n"
            "    time: {from: field, field: ts}\n");
    while (access(storage_lab_path(&lab, "data/storage/texts/x"), F_OK) < 0)
        assert_true(weir_now_ms() < limit_ms);
    if (by_rename)
        assert_int_equal(rename(source(".new"), source("x")), 0);
    else
        write_lines("x", 'b', NEW_LINES);
    for (is = storage_lab_dataset(&lab, "texts"); is.live != NEW_LINES;
         is = storage_lab_dataset(&lab, "texts")) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(lab.loop, ROUND_MS);
    }
    for (uint64_t i = is.replaced; i < is.ingested; i += 10000) {
        uint32_t state;
        const char *text =
            storage_lab_read(&lab, weir_sample_id(1, (uint32_t)(i >> 16), i & 0xffff), &state);

        assert_non_null(text);
        assert_int_equal(text[strlen(text) - 3], 'b');
    }
}

static void a_file_that_is_replaced_while_its_copy_is_indexed_is_not_half_of_both(void **state)
{
    (void)state;
    replace_while_copied(true);
}

static void a_file_that_is_rewritten_while_its_copy_is_indexed_is_not_half_of_both(void **state)
{
    (void)state;
    replace_while_copied(false);
}

static void what_may_not_be_read_stops_nobody_and_is_named(void **state)
{
    (void)state;
    storage_lab_kill(&lab);
    lab.obeys_modes = true;
    storage_lab_start(&lab);
    lab.obeys_modes = false;
    storage_lab_write(&lab, "closed/x", "x");
    storage_lab_write(&lab, "m-secret", "s");
    storage_lab_write(&lab, "z", "z");
    assert_int_equal(chmod(source("m-secret"), 0), 0);
    declare(TEXTS);
    (void)await(2, 0, 0);
    await_complaint("m-secret: cannot be read: Permission denied");
    assert_int_equal(chmod(source("closed"), 0), 0);
    await_complaint("closed/: Permission denied");
    storage_lab_write(&lab, "zz", "more");
    (void)await(3, 0, 0); /* what is known of the closed folder stays */
    assert_int_equal(chmod(source("closed"), 0700), 0);
    assert_int_equal(chmod(source("m-secret"), 0600), 0);
    assert_int_equal(await(4, 0, 0).complaints.count, 0);
}

/* ---- changes of every kind ---- */

static void a_file_renamed_over_another_replaces_it(void **state)
{
    (void)state;
    storage_lab_write(&lab, "x", "old");
    set_mtime(source("x"), 86400);
    declare(TEXTS);
    (void)await(1, 0, 0);
    storage_lab_write(&lab, ".new", "new");
    set_mtime(source(".new"), 86400); /* the same size, the same time */
    assert_int_equal(rename(source(".new"), source("x")), 0);
    (void)await(1, 0, 1);
    assert_string_equal(payload(1), "new");
}

static void a_copied_file_renamed_over_another_replaces_it(void **state)
{
    (void)state;
    storage_lab_write(&lab, "x", "old");
    set_mtime(source("x"), 86400);
    declare(COPIES);
    (void)await(1, 0, 0);
    storage_lab_write(&lab, ".new", "new");
    set_mtime(source(".new"), 86400);
    assert_int_equal(rename(source(".new"), source("x")), 0);
    (void)await(1, 0, 1);
    assert_string_equal(payload(1), "new");
}

static void a_file_rewritten_in_place_is_replaced(void **state)
{
    (void)state;
    storage_lab_write(&lab, "x", "{\"ts\":1}\n{\"ts\":2}\n");
    declare(LINES);
    (void)await(2, 0, 0);
    WEIR_AUTO_FD int fd = open(source("x"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "{\"ts\":7}", 8, 0), 8);
    (void)await(2, 0, 2);
    assert_string_equal(payload(2), "{\"ts\":7}");
}

static void a_file_moved_within_the_tree_is_removed_and_added(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a/x", "x");
    storage_lab_write(&lab, "b/y", "y");
    declare(TEXTS);
    (void)await(2, 0, 0);
    assert_int_equal(rename(source("a/x"), source("b/x")), 0);
    (void)await(2, 1, 0);
    assert_string_equal(payload(2), "x");
}

static void a_folder_that_is_renamed_takes_its_files_along(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a/deep/x", "x");
    storage_lab_write(&lab, "a/y", "y");
    storage_lab_write(&lab, "z", "z");
    declare(TEXTS);
    (void)await(3, 0, 0);
    assert_int_equal(rename(source("a"), source("b")), 0);
    (void)await(3, 2, 0);
    storage_lab_write(&lab, "b/deep/new", "n"); /* is heard of under the new name */
    (void)await(4, 2, 0);
    storage_lab_write(&lab, "a/again", "a");
    (void)await(5, 2, 0);
}

static void turn_file_into_folder_and_back(const char *yaml)
{
    storage_lab_write(&lab, "x", "file");
    declare(yaml);
    (void)await(1, 0, 0);
    storage_lab_remove(&lab, "x");
    storage_lab_write(&lab, "x/y", "inside");
    (void)await(1, 1, 0);
    storage_lab_remove(&lab, "x/y");
    assert_int_equal(rmdir(source("x")), 0);
    storage_lab_write(&lab, "x", "file again");
    (void)await(1, 2, 0);
    assert_string_equal(payload(2), "file again");
}

static void a_file_becomes_a_folder_and_a_file_again(void **state)
{
    (void)state;
    turn_file_into_folder_and_back(TEXTS);
}

static void the_copy_of_a_file_makes_room_for_a_folder(void **state)
{
    (void)state;
    turn_file_into_folder_and_back(COPIES);
}

static void copies_that_nobody_knows_are_swept_at_the_start(void **state)
{
    const char *folder = storage_lab_path(&lab, "data/storage/texts/a.d");
    const char *junk = weir_arena_format(lab.arena, "%s/junk", folder);
    uint32_t sample;

    (void)state;
    storage_lab_write(&lab, "a", "a");
    storage_lab_write(&lab, "b/c", "c");
    declare(COPIES);
    (void)await(2, 0, 0);
    storage_lab_kill(&lab);
    assert_int_equal(mkdir(folder, 0700), 0);
    close(open(junk, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    storage_lab_start(&lab);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 0), &sample), "a");
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &sample), "c");
    assert_int_equal(access(folder, F_OK), -1);
}

static void folders_that_a_death_left_empty_make_room_for_a_copy(void **state)
{
    const char *folder = storage_lab_path(&lab, "data/storage/texts/b/deep/er");
    struct weir_error err;

    (void)state;
    storage_lab_write(&lab, "a", "a");
    declare(COPIES);
    (void)await(1, 0, 0);
    storage_lab_kill(&lab);
    assert_int_equal(weir_make_directories(folder, 0700, &err), WEIR_OK);
    storage_lab_write(&lab, "b", "was a folder");
    storage_lab_start(&lab);
    (void)await(2, 0, 0);
    assert_string_equal(payload(1), "was a folder");
}

/* The state after a death between the copy of a new file and its registration, when that file then went and the one
 * before it came back. */
static void a_copy_of_something_else_is_made_again(void **state)
{
    const char *copy = storage_lab_path(&lab, "data/storage/texts/a");
    const char *other = storage_lab_path(&lab, "other");
    int fd;

    (void)state;
    storage_lab_write(&lab, "a", "first");
    declare(COPIES);
    (void)await(1, 0, 0);
    storage_lab_kill(&lab);
    fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "other", 5), 5);
    close(fd);
    assert_int_equal(rename(other, copy), 0);
    storage_lab_start(&lab);
    await_payload(0, "first");
    (void)await(1, 0, 0);
}

static void hard_links_are_files_of_their_own(void **state)
{
    (void)state;
    storage_lab_write(&lab, "x", "same");
    assert_int_equal(link(source("x"), source("y")), 0);
    declare(TEXTS);
    (void)await(2, 0, 0);
    storage_lab_remove(&lab, "x");
    (void)await(1, 1, 0);
    assert_string_equal(payload(1), "same");
}

static void any_name_will_do(void **state)
{
    const char *const names[] = {"\t tab",     "a b  c",      "line\nbreak",
                                 "\"quoted\"", "caf\xc3\xa9", "\xff\xfe not utf-8",
                                 "%s%n",       "-rf",         "\\"};
    char text[16];

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(names); i++) {
        snprintf(text, sizeof(text), "%zu", i);
        storage_lab_write(&lab, names[i], text);
        storage_lab_write(&lab, weir_arena_format(lab.arena, "%s.d/%s", names[i], names[i]), text);
    }
    declare(COPIES);
    (void)await(2 * WEIR_COUNT(names), 0, 0);
    for (size_t i = 0; i < 2 * WEIR_COUNT(names); i++)
        assert_int_equal(strlen(payload((uint32_t)i)), 1);
    for (size_t i = 0; i < WEIR_COUNT(names); i++)
        storage_lab_remove(&lab, names[i]);
    (void)await(WEIR_COUNT(names), WEIR_COUNT(names), 0);
}

static void an_empty_file_is_refused_until_it_holds_something(void **state)
{
    (void)state;
    storage_lab_write(&lab, "x", "");
    storage_lab_write(&lab, "y", "y");
    declare(TEXTS);
    assert_int_equal(await(1, 0, 0).quarantined, 1);
    storage_lab_append(&lab, "x", "x");
    assert_int_equal(await(2, 0, 0).quarantined, 0);
}

static void a_vanished_source_removes_nothing_and_may_return(void **state)
{
    const char *aside = storage_lab_path(&lab, "aside");

    (void)state;
    storage_lab_write(&lab, "x", "x");
    declare(TEXTS);
    (void)await(1, 0, 0);
    assert_int_equal(rename(storage_lab_path(&lab, "source"), aside), 0);
    await_complaint("cannot read the folder");
    (void)await(1, 0, 0);
    assert_int_equal(rename(aside, storage_lab_path(&lab, "source")), 0);
    storage_lab_write(&lab, "y", "y");
    assert_int_equal(await(2, 0, 0).complaints.count, 0);
    storage_lab_write(&lab, "z", "z"); /* it is watched again */
    (void)await(3, 0, 0);
}

static void links_are_refused(void **state)
{
    (void)state;
    storage_lab_write(&lab, "x", "x");
    storage_lab_write(&lab, "d/y", "y");
    assert_int_equal(symlink("x", source("to-file")), 0);
    assert_int_equal(symlink("d", source("to-folder")), 0);
    assert_int_equal(symlink("/etc/hostname", source("outside")), 0);
    declare(TEXTS);
    (void)await(2, 0, 0);
    storage_lab_remove(&lab, "d/y");
    assert_int_equal(symlink("/etc/hostname", source("d/y")), 0);
    (void)await(1, 1, 0);
}

static void a_changed_row_of_the_manifest_replaces_its_sample(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.txt", "a");
    storage_lab_write(&lab, "b.txt", "b");
    storage_lab_write(&lab, "manifest.csv", "path,time,label\na.txt,1,ham\nb.txt,2,ham\n");
    declare(MAILS);
    (void)await(2, 0, 0);
    storage_lab_write(&lab, "manifest.csv", "path,time,label\na.txt,1,spam\nb.txt,2,ham\n");
    (void)await(2, 0, 1);
    storage_lab_write(&lab, "manifest.csv", "path,time,label\na.txt,1,spam\n");
    is = await(1, 1, 1); /* no longer listed */
    assert_int_equal(is.quarantined, 1);
    storage_lab_write(&lab, "manifest.csv", "path,time,label\na.txt,1,spam\nb.txt,5,ham\n");
    assert_int_equal(await(2, 1, 1).quarantined, 0);
    storage_lab_kill(&lab);
    storage_lab_write(&lab, "manifest.csv", "path,time,label\na.txt,9,spam\nb.txt,5,ham\n");
    storage_lab_start(&lab);
    (void)await(2, 1, 2); /* also while nobody was looking */
}

static void two_datasets_may_watch_one_folder(void **state)
{
    (void)state;
    storage_lab_write(&lab, "x.txt", "x");
    declare("  - name: texts\n"
            "    source: {path: %s, format: files, settle: 0ms}\n"
            "    time: {from: mtime}\n"
            "  - name: others\n"
            "    source: {path: %s, format: files, settle: 0ms}\n"
            "    time: {from: mtime}\n");
    (void)await(1, 0, 0);
    (void)storage_lab_await(&lab, "others", 1);
    storage_lab_write(&lab, "y.txt", "y");
    (void)await(2, 0, 0);
    (void)storage_lab_await(&lab, "others", 2);
}

static void a_relative_path_starts_where_the_platform_was_started(void **state)
{
    WEIR_AUTO_FREE char *here = realpath(".", NULL);

    (void)state;
    storage_lab_write(&lab, "x", "x");
    storage_lab_kill(&lab);
    assert_int_equal(chdir(lab.dir.path), 0);
    storage_lab_start(&lab);
    assert_int_equal(chdir(here), 0);
    declare("  - name: texts\n"
            "    source: {path: source, format: files, settle: 0ms}\n"
            "    time: {from: mtime}\n");
    (void)await(1, 0, 0);
    storage_lab_kill(&lab);
    storage_lab_start(&lab); /* from here now, but the path is kept as it was resolved */
    storage_lab_write(&lab, "y", "y");
    (void)await(2, 0, 0);
}

/* ---- when the kernel tells too little ---- */

static void lost_events_lead_to_a_look_at_everything(void **state)
{
    enum { FILES = 12000 }; /* with three events each, and a queue of 16384 by default */

    (void)state;
    storage_lab_write(&lab, "d/first", "x");
    declare(TEXTS);
    (void)await(1, 0, 0);
    assert_int_equal(kill(lab.pid, SIGSTOP), 0);
    for (int i = 0; i < FILES; i++) {
        char name[32];

        snprintf(name, sizeof(name), "d/f%d", i);
        storage_lab_write(&lab, name, "x");
    }
    storage_lab_write(&lab, "last", "x");
    assert_int_equal(kill(lab.pid, SIGCONT), 0);
    (void)await(FILES + 2, 0, 0);
}

static void folders_beyond_the_limit_of_watches_are_named(void **state)
{
    (void)state;
    storage_lab_kill(&lab);
    lab.faults = "storage.watch.folder=2";
    storage_lab_start(&lab);
    lab.faults = NULL;
    storage_lab_write(&lab, "d/x", "x");
    declare(TEXTS);
    (void)await(1, 0, 0);
    await_complaint("fs.inotify.max_user_watches");
    storage_lab_write(&lab, "d/unheard", "y");
    storage_lab_write(&lab, "heard", "z");
    (void)await(2, 0, 0);
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(a_known_path_with_other_content_of_the_same_size_is_replaced),
        CASE(a_known_path_that_grew_is_read_on),
        CASE(a_removed_file_is_told),
        CASE(a_late_file_with_an_old_mtime_is_as_new_as_any),
        CASE(a_file_under_its_writing_name_waits_for_its_rename),
        CASE(a_file_that_is_written_slowly_comes_in_once_and_whole),
        CASE(a_file_that_is_appended_to_all_the_time_comes_in_by_lines),
        CASE(the_copy_of_a_file_that_is_appended_to_follows_it),
        CASE(a_file_that_is_replaced_while_its_copy_is_indexed_is_not_half_of_both),
        CASE(a_file_that_is_rewritten_while_its_copy_is_indexed_is_not_half_of_both),
        CASE(what_may_not_be_read_stops_nobody_and_is_named),
        CASE(a_file_renamed_over_another_replaces_it),
        CASE(a_copied_file_renamed_over_another_replaces_it),
        CASE(a_file_rewritten_in_place_is_replaced),
        CASE(a_file_moved_within_the_tree_is_removed_and_added),
        CASE(a_folder_that_is_renamed_takes_its_files_along),
        CASE(a_file_becomes_a_folder_and_a_file_again),
        CASE(the_copy_of_a_file_makes_room_for_a_folder),
        CASE(copies_that_nobody_knows_are_swept_at_the_start),
        CASE(folders_that_a_death_left_empty_make_room_for_a_copy),
        CASE(a_copy_of_something_else_is_made_again),
        CASE(hard_links_are_files_of_their_own),
        CASE(any_name_will_do),
        CASE(an_empty_file_is_refused_until_it_holds_something),
        CASE(a_vanished_source_removes_nothing_and_may_return),
        CASE(links_are_refused),
        CASE(a_changed_row_of_the_manifest_replaces_its_sample),
        CASE(two_datasets_may_watch_one_folder),
        CASE(a_relative_path_starts_where_the_platform_was_started),
        CASE(lost_events_lead_to_a_look_at_everything),
        CASE(folders_beyond_the_limit_of_watches_are_named),
    };
    return storage_lab_run(&lab, "storage: watching", tests, WEIR_COUNT(tests));
}
