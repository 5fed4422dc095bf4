/* `weir doctor` over a healthy store finds nothing; over a store that was damaged on purpose it finds that
 * damage and no other. */
#include "tests/component/storage_lab.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES = 2000, WRONG = 2, TEXT_MAX = 200 };

static const char DATASETS[] = "  - name: clicks\n"
                               "    source: {path: %s/clicks, format: csv, import: copy,\n"
                               "             on_erase: scrub, settle: 0ms}\n"
                               "    time: {from: field, field: ts}\n"
                               "    label: {field: kind, classes: stream}\n"
                               "    subject: {field: user}\n";

static struct storage_lab lab;

static void write_clicks(const char *name, int first, const char *user)
{
    WEIR_AUTO_BUF text = {0};

    weir_buf_append_text(&text, "ts,kind,user\n");
    for (int i = 0; i < LINES; i++)
        weir_buf_printf(&text, "%d,kind%d,%s%d\n", first + i * 7 % LINES, i % 5, user, i % 50);
    weir_buf_append_text(&text, "not a time,kind1,user1\n");
    storage_lab_write(&lab, name, weir_buf_text(&text));
}

/* Four files, one of them removed, one without a sample that was erased; each has a refused line. */
static int open_lab(void **state)
{
    (void)state;
    storage_lab_open(&lab);
    storage_lab_begin(&lab);
    write_clicks("clicks/a.csv", 0, "user");
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, DATASETS), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    write_clicks("clicks/b.csv", 1000, "user");
    (void)storage_lab_await(&lab, "clicks", 2);
    write_clicks("clicks/c.csv", 5000, "user");
    (void)storage_lab_await(&lab, "clicks", 3);
    storage_lab_remove(&lab, "clicks/b.csv");
    (void)storage_lab_await(&lab, "clicks", 4);
    write_clicks("clicks/d.csv", 5000, "other");
    (void)storage_lab_await(&lab, "clicks", 5);
    (void)storage_lab_erase(&lab, "doctor-1", "user7", "verified");
    return 0;
}

static int close_lab(void **state)
{
    (void)state;
    storage_lab_end(&lab);
    storage_lab_close(&lab);
    return 0;
}

/* "accounts feed ": the checks that found something wrong, each once, in their order. */
static void wrong_checks(const struct msg_doctor_is *answer, char text[TEXT_MAX])
{
    *text = '\0';
    for (size_t i = 0; i < answer->checks.count; i++) {
        char word[64];

        snprintf(word, sizeof(word), "%s ", answer->checks.at[i]);
        if (answer->verdicts.at[i] != WRONG)
            continue;
        assert_string_equal(answer->datasets.at[i], "clicks");
        assert_true(*answer->found.at[i] && *answer->advice.at[i]);
        if (strstr(text, word) == NULL)
            strncat(text, word, TEXT_MAX - strlen(text) - 1);
    }
}

static void assert_finds(const char *what, bool deep, const char *wanted)
{
    struct msg_doctor_is answer = storage_lab_examine(&lab, deep);
    char found[TEXT_MAX];

    wrong_checks(&answer, found);
    if (strcmp(found, wanted) != 0) {
        for (size_t i = 0; i < answer.checks.count; i++)
            print_message("%s: %s: %u %s (%s)\n", what, answer.checks.at[i], answer.verdicts.at[i],
                          answer.found.at[i], answer.expected.at[i]);
    }
    assert_string_equal(found, wanted);
}

static void a_healthy_store_has_nothing_wrong(void **state)
{
    struct msg_doctor_is answer = storage_lab_examine(&lab, true);

    (void)state;
    assert_finds("healthy", false, "");
    assert_finds("healthy", true, "");
    assert_true(answer.checks.count >= 9); /* each check says what it has looked at */
}

static void damage_in_postgres_is_found_where_it_is(void **state)
{
    static const struct {
        const char *table, *damage, *wanted;
    } CASES[] = {
        {"dataset", "SET live = live - 1, removed = removed + 1", "accounts "},
        {"dataset", "SET bytes = bytes + 1", "accounts "},
        {"dataset", "SET quarantined = quarantined + 1", "refused "},
        {"dataset", "SET blocked = blocked + 1", "refused "},
        {"dataset", "SET next_row = next_row + 1", "ids "},
        {"chunk", "SET times = set_byte(times, 0, 3)", "chunks "},
        {"chunk", "SET offsets = ''", "chunks "},
        {"chunk", "SET time_max = time_max + 1 WHERE first_row = 0", "chunks "},
        {"chunk", "SET lengths = set_byte(lengths, 4, 127)", "chunks "},
        {"feed", "SET kind = 9 WHERE sequence = 2", "feed "},
        {"feed", "SET count = count + 1 WHERE sequence = 1", "feed "},
        {"dead", "SET removed = ''", "accounts feed "},
        {"dead", "SET erased = ''", "accounts feed erasures "},
        {"run_segment", "SET bytes = set_byte(bytes, 2, 99) WHERE length(bytes) > 0", "keys "},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        const char *table = CASES[i].table;
        WEIR_AUTO_FREE char *keep =
            weir_format("DROP TABLE IF EXISTS keep; CREATE TABLE keep AS TABLE storage.%s", table);
        WEIR_AUTO_FREE char *harm = weir_format("UPDATE storage.%s %s", table, CASES[i].damage);
        WEIR_AUTO_FREE char *heal =
            weir_format("DELETE FROM storage.%s; INSERT INTO storage.%s SELECT * FROM keep; "
                        "DROP TABLE keep",
                        table, table);

        weir_test_postgres_sql(&lab.postgres, keep);
        weir_test_postgres_sql(&lab.postgres, harm);
        assert_finds(harm, false, CASES[i].wanted);
        weir_test_postgres_sql(&lab.postgres, heal);
    }
    assert_finds("healed", false, "");
}

static void rows_that_are_gone_are_missed(void **state)
{
    static const struct {
        const char *table, *which, *wanted;
    } CASES[] = {
        {"chunk", "first_row > 0", "ids "},
        {"feed", "sequence = 2", "feed "},
        {"feed", "sequence = (SELECT max(sequence) FROM storage.feed)", "feed "},
        {"run_segment", "true", "keys "},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        const char *table = CASES[i].table;
        WEIR_AUTO_FREE char *harm = weir_format(
            "DROP TABLE IF EXISTS keep; CREATE TABLE keep AS SELECT * FROM storage.%s WHERE %s; "
            "DELETE FROM storage.%s WHERE %s",
            table, CASES[i].which, table, CASES[i].which);
        WEIR_AUTO_FREE char *heal =
            weir_format("INSERT INTO storage.%s SELECT * FROM keep; DROP TABLE keep", table);

        weir_test_postgres_sql(&lab.postgres, harm);
        assert_finds(harm, false, CASES[i].wanted);
        weir_test_postgres_sql(&lab.postgres, heal);
    }
    assert_finds("healed", false, "");
}

static void a_consumer_beyond_the_feed_is_found(void **state)
{
    (void)state;
    weir_test_postgres_sql(&lab.postgres, "INSERT INTO storage.consumer (dataset, name, passed) "
                                          "VALUES (1, 'ahead', 999)");
    assert_finds("consumer", false, "feed ");
    weir_test_postgres_sql(&lab.postgres, "DELETE FROM storage.consumer WHERE name = 'ahead'");
}

static void a_flipped_byte_is_found_by_reading(void **state)
{
    const char *copy = "data/storage/clicks/d.csv";

    (void)state;
    (void)storage_lab_await_sums(&lab);  /* one made of a flipped byte would say so for ever */
    storage_lab_flip(&lab, copy, 12000); /* in the middle */
    assert_finds("flipped", false, "");
    assert_finds("flipped", true, "bytes ");
    storage_lab_flip(&lab, copy, 12000);
    storage_lab_flip(&lab, copy, 3);
    assert_finds("flipped", true, "bytes ");
    storage_lab_flip(&lab, copy, 3);
    assert_finds("mended", true, "");
}

/* Bytes around erased records are compared like any others. */
static void a_flipped_byte_of_a_scrubbed_copy_is_found(void **state)
{
    const char *copy = "data/storage/clicks/a.csv";

    (void)state;
    assert_false(storage_lab_holds(&lab, copy, "user7\n"));
    (void)storage_lab_await_sums(&lab); /* as above */
    for (off_t at = 14; at < 2000; at += 500) {
        storage_lab_flip(&lab, copy, at);
        assert_finds("flipped", true, "bytes ");
        storage_lab_flip(&lab, copy, at);
    }
    assert_finds("mended", true, "");
}

static void a_copy_that_is_gone_or_other_is_found(void **state)
{
    const char *copy = storage_lab_path(&lab, "data/storage/clicks/d.csv");
    const char *aside = storage_lab_path(&lab, "data/aside");
    struct stat found;

    (void)state;
    assert_int_equal(rename(copy, aside), 0);
    assert_finds("missing", false, "files ");
    assert_int_equal(symlink(aside, copy), 0);
    assert_finds("a link", false, "files ");
    assert_int_equal(unlink(copy), 0);
    assert_int_equal(rename(aside, copy), 0);
    assert_int_equal(stat(copy, &found), 0);
    assert_int_equal(truncate(copy, found.st_size - 1), 0);
    assert_finds("shorter", false, "files ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_store_has_nothing_wrong),
        cmocka_unit_test(damage_in_postgres_is_found_where_it_is),
        cmocka_unit_test(rows_that_are_gone_are_missed),
        cmocka_unit_test(a_consumer_beyond_the_feed_is_found),
        cmocka_unit_test(a_flipped_byte_is_found_by_reading),
        cmocka_unit_test(a_flipped_byte_of_a_scrubbed_copy_is_found),
        cmocka_unit_test(a_copy_that_is_gone_or_other_is_found),
    };
    return cmocka_run_group_tests_name("storage: doctor", tests, open_lab, close_lab);
}
