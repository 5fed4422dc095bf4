/* An examination of a store that is erased from meanwhile: after each receipt storage drops all that it holds of
 * people, and the examination goes on where it stood. */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/doctor/doctor_state.h"
#include "tests/component/storage_inside.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 40, LINES = 50, STEPS_MAX = 1000, SESSION = 7 };

static int begin(void **state)
{
    struct storage_inside *inside = calloc(1, sizeof(*inside));

    storage_inside_begin(inside);
    for (int i = 0; i < FILES; i++) {
        WEIR_AUTO_FREE char *name = weir_format("anna-%02d.csv", i);
        WEIR_AUTO_BUF text = {0};

        weir_buf_append_text(&text, "ts,user\n");
        for (int k = 0; k < LINES; k++)
            weir_buf_printf(&text, "%d,person%d\n", k, i);
        storage_inside_write(inside, name, weir_buf_text(&text));
    }
    (void)storage_inside_declare(inside, "  - name: clicks\n"
                                         "    source: {path: %s, format: csv, on_erase: scrub,\n"
                                         "             import: copy, settle: 0ms}\n"
                                         "    time: {from: field, field: ts}\n"
                                         "    subject: {field: user}\n");
    *state = inside;
    return 0;
}

/* Asks for the examination, and begins it if there is none. */
static struct msg_doctor_is ask(struct storage_inside *inside)
{
    const struct examined examined = {.store = &inside->storage->store,
                                      .sums = inside->storage->sums,
                                      .leases = inside->storage->leases};
    const struct msg_doctor_request asked = {.session = SESSION, .deep = true};
    struct msg_doctor_is answer;
    struct weir_error err;

    assert_int_equal(storage_doctor_report(&inside->storage->doctor, &examined, &asked,
                                           inside->arena, &answer, &err),
                     WEIR_OK);
    inside->storage->doctor->step_ms = 0; /* a piece a turn */
    return answer;
}

static void wipe(struct storage_inside *inside)
{
    struct msg_wiped answer;

    storage_wipe(inside->storage, NULL, &answer);
}

static struct msg_doctor_is examine(struct storage_inside *inside, bool wipes)
{
    struct msg_doctor_is answer = ask(inside);

    for (int steps = 0; !answer.done; steps++) {
        assert_in_range(steps, 0, STEPS_MAX);
        if (wipes)
            wipe(inside);
        weir_loop_step(inside->loop, TEST_STEP_MS);
        answer = ask(inside);
    }
    return answer;
}

static size_t count_wrong(const struct msg_doctor_is *answer, const char *part)
{
    size_t count = 0;

    for (size_t i = 0; i < answer->found.count; i++) {
        if (answer->verdicts.at[i] == DOCTOR_WRONG)
            count += strstr(answer->found.at[i], part) != NULL;
    }
    return count;
}

static void it_goes_on_over_all_receipts(void **state)
{
    struct storage_inside *inside = *state;
    struct msg_doctor_is answer = examine(inside, true);

    assert_true(answer.found.count >= 9); /* each check says what it has looked at */
    assert_int_equal(count_wrong(&answer, ""), 0);
}

/* Changes one byte of a copy, which no time of it tells. */
static void damage(struct storage_inside *inside, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/storage/clicks/%s", inside->dir.path, name);
    WEIR_AUTO_FD int fd = open(path, O_RDWR);
    struct stat found;

    assert_true(fd >= 0 && fstat(fd, &found) == 0);
    assert_int_equal(pwrite(fd, "X", 1, found.st_size - 3), 1);
    assert_int_equal(futimens(fd, (struct timespec[]){found.st_atim, found.st_mtim}), 0);
}

static void what_it_found_before_stays_and_names_nobody_meanwhile(void **state)
{
    struct storage_inside *inside = *state;
    const struct doctor *doctor;
    struct msg_doctor_is answer;

    damage(inside, "anna-00.csv");
    damage(inside, "anna-30.csv");
    (void)ask(inside);
    doctor = inside->storage->doctor;
    for (int steps = 0; doctor->finding_count < 9; steps++) {
        assert_in_range(steps, 0, STEPS_MAX);
        weir_loop_step(inside->loop, TEST_STEP_MS);
    }
    wipe(inside);
    assert_null(doctor->catalog);
    for (size_t i = 0; i < doctor->finding_count; i++)
        assert_null(strstr(doctor->findings[i].found, "anna"));
    answer = examine(inside, true);
    assert_int_equal(count_wrong(&answer, ""), 2);
    assert_int_equal(count_wrong(&answer, "anna-00.csv: "), 1);
    assert_int_equal(count_wrong(&answer, "anna-30.csv: "), 1);
}

/* As erasures and pushes of the dataset do, which commit between two steps. */
static void change(struct storage_inside *inside)
{
    weir_test_postgres_sql(&inside->postgres, "UPDATE storage.dataset SET sequence = sequence + 1");
}

static void files_are_looked_at_though_the_dataset_always_changes(void **state)
{
    struct storage_inside *inside = *state;
    struct msg_doctor_is answer = ask(inside);
    size_t said = 0;

    damage(inside, "anna-07.csv");
    for (int steps = 0; !answer.done; steps++) {
        assert_in_range(steps, 0, STEPS_MAX);
        if (storage_doctor_counts(inside->storage->doctor))
            change(inside);
        wipe(inside);
        weir_loop_step(inside->loop, TEST_STEP_MS);
        answer = ask(inside);
    }
    for (size_t i = 0; i < answer.found.count; i++)
        said += strstr(answer.found.at[i], "changed whenever") != NULL;
    assert_int_equal(said, 1);
    assert_int_equal(count_wrong(&answer, "anna-07.csv: "), 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, storage_inside_teardown)
    const struct CMUnitTest tests[] = {
        CASE(it_goes_on_over_all_receipts),
        CASE(what_it_found_before_stays_and_names_nobody_meanwhile),
        CASE(files_are_looked_at_though_the_dataset_always_changes),
    };

    return cmocka_run_group_tests_name("storage: examinations", tests, NULL, NULL);
}
