/* Erasures against the real service: the two acknowledgements, bytes that are gone, what stays out, and
 * deaths in between. */
#include "tests/component/storage_lab.h"

#include "core/base/clock.h"
#include "core/wire/sample.h"
#include "storage/reading/use_leases.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char JSONL_REFERENCE[] = "  - name: clicks\n"
                                      "    source: {path: %s, format: jsonl, on_erase: scrub,\n"
                                      "             settle: 0ms}\n"
                                      "    time: {from: field, field: ts}\n"
                                      "    subject: {field: user}\n";
static const char JSONL_COPY[] = "  - name: clicks\n"
                                 "    source: {path: %s, format: jsonl, on_erase: scrub,\n"
                                 "             import: copy, settle: 0ms}\n"
                                 "    time: {from: field, field: ts}\n"
                                 "    subject: {field: user}\n";
static const char ANNA[] = "anna@example.org";

static struct storage_lab lab;

static void declare_mails(void)
{
    storage_lab_write(&lab, "a.txt", "Dear list, the purple weir at Anna's mill overflowed today.");
    storage_lab_write(&lab, "b.txt", "Bob answers with something entirely different, as always.");
    storage_lab_write(&lab, "c.txt",
                      "Second mail of Anna: seventeen herons were seen at the mill.");
    storage_lab_write(&lab, "manifest.csv",
                      "path,time,label,subject\na.txt,2002-08-01,ham,anna@example.org\n"
                      "b.txt,2002-08-02,spam,bob@example.org\n"
                      "c.txt,2002-08-03,ham,anna@example.org\n");
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    (void)storage_lab_await(&lab, "mails", 1);
}

static bool remarks_of(const struct msg_erase_is *erasure, const char *text)
{
    bool is_said = false;

    for (size_t i = 0; i < erasure->remarks.count; i++)
        is_said = is_said || strstr(erasure->remarks.at[i], text) != NULL;
    return is_said;
}

static void an_erased_mail_is_gone_and_stays_out(void **state)
{
    struct msg_dataset_is is;
    struct msg_erase_is erasure;
    uint32_t sample;

    (void)state;
    declare_mails();
    assert_true(storage_lab_holds(&lab, "data", "seventeen herons"));
    erasure = storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_int_equal(erasure.samples, 2);
    assert_int_equal(erasure.epoch, 1);
    assert_int_equal(erasure.found, 0);
    assert_int_equal(erasure.records_scrubbed, 2);
    assert_int_equal(erasure.files_scrubbed, 2);
    assert_true(erasure.bytes_searched > 0);
    assert_true(erasure.accepted_us <= erasure.in_force_us);
    assert_true(erasure.in_force_us <= erasure.scrubbed_us);
    assert_true(erasure.scrubbed_us <= erasure.verified_us);
    assert_non_null(strstr(erasure.remarks.at[0], "outside Weir's reach"));
    assert_false(storage_lab_holds(&lab, "data", "seventeen herons"));
    assert_true(storage_lab_holds(&lab, "source", "seventeen herons"));
    assert_null(storage_lab_read(&lab, weir_sample_id(1, 0, 0), &sample));
    assert_int_equal(sample, WEIR_SAMPLE_ERASED);
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &sample));
    is = storage_lab_dataset(&lab, "mails");
    assert_int_equal(is.live, 1);
    assert_int_equal(is.erased, 2);

    storage_lab_kill(&lab); /* the next start scans the source, where the mails still are */
    storage_lab_start(&lab);
    storage_lab_write(&lab, "d.txt", "not listed, only to make the feed move on");
    storage_lab_append(&lab, "manifest.csv", "d.txt,2002-08-04,ham,dora@example.org\n");
    is = storage_lab_await(&lab, "mails", erasure.epoch + 3);
    assert_int_equal(is.live, 2);
    assert_int_equal(is.blocked, 2);
    assert_false(storage_lab_holds(&lab, "data", "seventeen herons"));
}

static void a_copy_that_is_gone_is_said_and_not_counted(void **state)
{
    struct msg_erase_is erasure;

    (void)state;
    declare_mails();
    assert_int_equal(unlink(storage_lab_path(&lab, "data/storage/mails/a.txt")), 0);
    erasure = storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_int_equal(erasure.files_scrubbed, 1);
    assert_true(remarks_of(&erasure, "is gone"));
}

/* A folder may be called after the person whose files are in it. */
static void folders_of_copies_go_with_their_last_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir(storage_lab_path(&lab, "source/all"), 0755), 0);
    assert_int_equal(mkdir(storage_lab_path(&lab, "source/all/anna"), 0755), 0);
    storage_lab_write(&lab, "all/anna/a.txt", "the purple weir at Anna's mill overflowed today");
    storage_lab_write(&lab, "all/b.txt", "Bob answers with something entirely different");
    storage_lab_write(&lab, "manifest.csv",
                      "path,time,label,subject\nall/anna/a.txt,2002-08-01,ham,anna@example.org\n"
                      "all/b.txt,2002-08-02,spam,bob@example.org\n");
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    (void)storage_lab_await(&lab, "mails", 1);
    assert_int_equal(access(storage_lab_path(&lab, "data/storage/mails/all/anna/a.txt"), F_OK), 0);
    (void)storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_int_equal(access(storage_lab_path(&lab, "data/storage/mails/all/anna"), F_OK), -1);
    assert_int_equal(access(storage_lab_path(&lab, "data/storage/mails/all/b.txt"), F_OK), 0);
}

static void damaged_fingerprints_verify_nothing(void **state)
{
    struct msg_erase_is erasure;

    (void)state;
    declare_mails();
    weir_test_postgres_sql(&lab.postgres,
                           "CREATE FUNCTION storage.damage() RETURNS trigger LANGUAGE plpgsql AS "
                           "'BEGIN NEW.prints := substr(NEW.prints, 1, length(NEW.prints) - 1); "
                           "RETURN NEW; END'");
    weir_test_postgres_sql(&lab.postgres,
                           "CREATE TRIGGER damage BEFORE INSERT ON storage.erasure_prints "
                           "FOR EACH ROW EXECUTE FUNCTION storage.damage()");
    erasure = storage_lab_erase(&lab, "u1", ANNA, "scrubbed");
    while (erasure.trouble[0] == '\0') {
        assert_string_equal(erasure.state, "scrubbed");
        storage_lab_seal(&lab);
        erasure = storage_lab_await_erasure(&lab, 1, "scrubbed");
    }
    assert_non_null(strstr(erasure.trouble, "fingerprints of it are damaged"));
}

static void nothing_clear_of_a_subject_reaches_postgres(void **state)
{
    (void)state;
    declare_mails();
    (void)storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_false(storage_lab_holds(&lab, lab.postgres.dir.path, ANNA));
    assert_false(storage_lab_holds(&lab, lab.postgres.dir.path, "seventeen herons"));
}

static void the_same_request_again_is_the_same_erasure(void **state)
{
    const char *subject = ANNA;
    const struct msg_erase_accept asked = {.uuid = "u1", .subjects = {&subject, 1}};
    struct msg_erase_accepted first, second;

    (void)state;
    declare_mails();
    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept, &asked, MSG_erase_accepted, &first), WEIR_OK);
    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept, &asked, MSG_erase_accepted, &second), WEIR_OK);
    assert_int_equal(first.matched, 2);
    assert_int_equal(first.erasure, second.erasure);
}

static struct msg_hold_is hold(uint64_t session, uint64_t epoch)
{
    struct msg_hold_is answer;

    assert_int_equal(
        storage_lab_request(
            &lab, MSG_hold,
            &(struct msg_hold){.holder = "worker-1", .session = session, .epoch = epoch},
            MSG_hold_is, &answer),
        WEIR_OK);
    return answer;
}

static void it_is_not_in_force_before_the_holder_has_answered(void **state)
{
    int64_t until_ms = weir_now_ms() + STORAGE_LEASE_KEPT_MS + 500;
    struct msg_erase_is erasure;

    (void)state;
    declare_mails();
    assert_int_equal(hold(7, 0).lease_ms, STORAGE_LEASE_MS);
    (void)storage_lab_erase(&lab, "u1", ANNA, "tombstoned");
    assert_int_equal(hold(7, 0).erased.count, 2);
    while (weir_now_ms() < until_ms) { /* renewing, but never naming the epoch */
        (void)hold(7, 0);
        weir_loop_step(lab.loop, 100);
    }
    erasure = storage_lab_await_erasure(&lab, 1, "tombstoned");
    assert_int_equal(erasure.in_force_us, 0);
    (void)hold(7, 1);
    erasure = storage_lab_await_erasure(&lab, 1, "verified");
    assert_int_equal(erasure.holders_answered, 1);
    assert_int_equal(erasure.holders_expired, 0);
}

static void a_dataset_that_an_open_erasure_looks_into_is_not_removed(void **state)
{
    const struct msg_dataset_remove removal = {.dataset = 1};

    (void)state;
    declare_mails();
    (void)hold(7, 0);
    (void)storage_lab_erase(&lab, "u1", ANNA, "tombstoned");
    assert_int_equal(
        storage_lab_request(&lab, MSG_dataset_remove, &removal, MSG_dataset_removed, NULL),
        WEIR_UNSUPPORTED);
    assert_non_null(strstr(lab.err.text, "dataset 'mails' cannot be removed: erasure 1 is open"));
    (void)hold(7, 1);
    (void)storage_lab_await_erasure(&lab, 1, "verified");
    assert_int_equal(
        storage_lab_request(&lab, MSG_dataset_remove, &removal, MSG_dataset_removed, NULL),
        WEIR_OK);
    assert_int_equal(storage_lab_await_erasure(&lab, 1, "verified").samples, 2);
}

static void write_clicks(void)
{
    storage_lab_write(
        &lab, "day.jsonl",
        "{\"ts\":1,\"user\":\"bob@example.org\",\"page\":\"the start page of the shop\"}\n"
        "{\"ts\":2,\"user\":\"anna@example.org\",\"page\":\"a heron made of porcelain\"}\n"
        "{\"ts\":3,\"user\":\"bob@example.org\",\"page\":\"another page of the shop\"}\n");
}

static void a_reference_is_scrubbed_in_place_and_its_other_lines_stay(void **state)
{
    struct msg_erase_is erasure;
    struct msg_dataset_is is;
    uint32_t sample;

    (void)state;
    write_clicks();
    assert_int_equal(storage_lab_declare(&lab, JSONL_REFERENCE), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    erasure = storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_int_equal(erasure.found, 0);
    assert_false(storage_lab_holds(&lab, "source", "porcelain"));
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 2), &sample));

    storage_lab_append(&lab, "day.jsonl", "{\"ts\":4,\"user\":\"carl@example.org\"}\n");
    is = storage_lab_await(&lab, "clicks", 3); /* added, erased, added: nothing was replaced */
    assert_int_equal(is.live, 3);
    assert_int_equal(is.replaced, 0);
    assert_int_equal(is.erased, 1);
}

/* A time before 1970 is no whole number of seconds either. */
static void a_file_of_any_age_is_scrubbed_and_keeps_its_time(void **state)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {-2, 500000000}};
    const char *path = storage_lab_path(&lab, "source/day.jsonl");
    struct stat about;

    (void)state;
    write_clicks();
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(storage_lab_declare(&lab, JSONL_REFERENCE), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    (void)storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_false(storage_lab_holds(&lab, "source", "porcelain"));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mtim.tv_sec, -2);
    assert_int_equal(about.st_mtim.tv_nsec, 500000000);
}

static void a_replaced_source_does_not_bring_an_erased_line_back(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    write_clicks();
    assert_int_equal(storage_lab_declare(&lab, JSONL_COPY), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    (void)storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_false(storage_lab_holds(&lab, "data", "porcelain"));
    storage_lab_remove(&lab, "day.jsonl");
    (void)storage_lab_await(&lab, "clicks", 3);
    write_clicks();
    is = storage_lab_await(&lab, "clicks", 5);
    assert_int_equal(is.live, 2);
    assert_int_equal(is.blocked, 1);
    assert_false(storage_lab_holds(&lab, "data", "porcelain"));
}

static void set_mode(const char *name, mode_t mode)
{
    assert_int_equal(chmod(storage_lab_path(&lab, name), mode), 0);
}

static void obey_modes(void)
{
    storage_lab_kill(&lab);
    lab.obeys_modes = true;
    storage_lab_start(&lab);
}

static struct msg_erase_is await_trouble(uint64_t number)
{
    struct msg_erase_is answer = {.trouble = ""};

    while (answer.trouble[0] == '\0') {
        answer = storage_lab_await_erasure(&lab, number, "in_force");
        weir_loop_step(lab.loop, 10);
    }
    return answer;
}

/* Two files with lines of the same person, one of which cannot be opened with `mode`. */
static void one_file_is_in_the_way(mode_t mode)
{
    struct msg_erase_is erasure;
    struct msg_dataset_is is;

    obey_modes();
    write_clicks();
    storage_lab_write(&lab, "kept.jsonl",
                      "{\"ts\":5,\"user\":\"anna@example.org\",\"page\":\"lamps of brass\"}\n");
    assert_int_equal(storage_lab_declare(&lab, JSONL_REFERENCE), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    set_mode("source/kept.jsonl", mode);
    (void)storage_lab_erase(&lab, "u1", ANNA, "in_force");
    erasure = await_trouble(1);
    assert_non_null(strstr(erasure.trouble, "1 of 2 samples"));
    assert_non_null(strstr(erasure.trouble, "source/kept.jsonl"));
    assert_non_null(strstr(erasure.trouble, "Permission denied"));
    assert_false(storage_lab_holds(&lab, "source", "porcelain")); /* the other file is done */
    assert_true(storage_lab_holds(&lab, "source", "lamps of brass"));

    storage_lab_write(&lab, "new.jsonl", "{\"ts\":6,\"user\":\"bob@example.org\"}\n");
    is = storage_lab_await(&lab, "clicks", 4); /* added twice, erased, and scans go on */
    assert_int_equal(is.live, 3);
    storage_lab_kill(&lab); /* a death forgets nothing of it */
    storage_lab_start(&lab);
    (void)await_trouble(1);
    set_mode("source/kept.jsonl", 0600);
    erasure = storage_lab_await_erasure(&lab, 1, "verified");
    assert_string_equal(erasure.trouble, "");
    assert_int_equal(erasure.found, 0);
    assert_int_equal(erasure.remarks.count, 0);
    assert_false(storage_lab_holds(&lab, "source", "lamps of brass"));
    lab.obeys_modes = false;
}

static void a_file_that_cannot_be_written_is_named_and_holds_up_nothing_else(void **state)
{
    (void)state;
    one_file_is_in_the_way(0400);
}

static void a_file_that_cannot_be_read_is_erased_when_it_can(void **state)
{
    (void)state;
    one_file_is_in_the_way(0);
}

static void a_folder_that_cannot_be_written_holds_its_files(void **state)
{
    static const char FILES_THERE[] = "  - name: mails\n"
                                      "    source: {path: %s, format: files, include: \"*.txt\",\n"
                                      "             on_erase: unlink, settle: 0ms}\n"
                                      "    time: {from: mtime}\n"
                                      "    label: none\n";
    const uint64_t id = weir_sample_id(1, 0, 0);
    struct msg_erase_accepted accepted;

    (void)state;
    obey_modes();
    storage_lab_write(&lab, "a.txt", "Dear list, the purple weir overflowed today.");
    assert_int_equal(storage_lab_declare(&lab, FILES_THERE), WEIR_OK);
    (void)storage_lab_await(&lab, "mails", 1);
    set_mode("source", 0500);
    assert_int_equal(storage_lab_request(&lab, MSG_erase_accept,
                                         &(struct msg_erase_accept){.uuid = "u1", .ids = {&id, 1}},
                                         MSG_erase_accepted, &accepted),
                     WEIR_OK);
    assert_non_null(strstr(await_trouble(1).trouble, "unlinked: Permission denied"));
    set_mode("source", 0700);
    assert_int_equal(storage_lab_await_erasure(&lab, 1, "verified").found, 0);
    assert_false(storage_lab_holds(&lab, "source", "purple"));
    lab.obeys_modes = false;
}

static void the_same_person_again_is_an_erasure_of_what_is_left(void **state)
{
    struct msg_erase_is first, second, nobody;

    (void)state;
    declare_mails();
    (void)hold(7, 0); /* keeps the first from coming into force */
    (void)storage_lab_erase(&lab, "u1", ANNA, "tombstoned");
    second = storage_lab_erase(&lab, "u2", ANNA, "tombstoned");
    assert_int_equal(second.samples, 0);
    (void)hold(7, 1);
    first = storage_lab_await_erasure(&lab, 1, "verified");
    second = storage_lab_await_erasure(&lab, 2, "verified");
    assert_int_equal(first.samples, 2);
    assert_int_equal(second.samples, 0);
    assert_true(second.in_force_us >= first.in_force_us); /* not before what it relies on */

    second = storage_lab_erase(&lab, "u3", ANNA, "verified");
    assert_int_equal(second.samples, 0);
    assert_int_equal(second.found, 0);
    nobody = storage_lab_erase(&lab, "u4", "nobody@example.org", "verified");
    assert_int_equal(nobody.samples, 0);
    assert_int_equal(nobody.files_scrubbed, 0);
    storage_lab_write(&lab, "n.txt", "A mail of nobody, who has asked for it to be left alone.");
    storage_lab_append(&lab, "manifest.csv", "n.txt,2002-08-05,ham,bob@example.org\n");
    assert_int_equal(storage_lab_await(&lab, "mails", 4).erased, 2);
}

static enum weir_status request_erasure_of_anna(struct msg_erase_accepted *ret_accepted)
{
    const char *subject = ANNA;

    return storage_lab_request(&lab, MSG_erase_accept,
                               &(struct msg_erase_accept){.uuid = "u1", .subjects = {&subject, 1}},
                               MSG_erase_accepted, ret_accepted);
}

static void a_death_at_each_step_only_repeats_work(void **state)
{
    static const char *const FAULTS[] = {
        "storage.erase.tombstone=!1", "storage.erase.columns=!1", "storage.erase.columns=1",
        "storage.erase.scrub=!1",     "storage.erase.scrub=1",    "storage.erase.overwritten=!1",
        "storage.erase.overwritten=1"};

    for (size_t i = 0; i < WEIR_COUNT(FAULTS); i++) {
        struct msg_erase_accepted accepted;
        enum weir_status status;
        struct msg_erase_is erasure;
        struct msg_dataset_is is;

        if (i > 0) {
            storage_lab_teardown(state);
            storage_lab_setup(state);
        }
        storage_lab_kill(&lab);
        lab.faults = FAULTS[i];
        storage_lab_start(&lab);
        declare_mails();
        status = request_erasure_of_anna(&accepted);
        if (strchr(FAULTS[i], '!') != NULL) {
            storage_lab_await_death(&lab);
            lab.faults = NULL;
            storage_lab_start(&lab);
            if (status != WEIR_OK) /* the death was faster than ZeroMQ's thread with the answer */
                status = request_erasure_of_anna(&accepted);
        }
        assert_int_equal(status, WEIR_OK);
        erasure = storage_lab_await_erasure(&lab, accepted.erasure, "verified");
        assert_int_equal(erasure.found, 0);
        assert_int_equal(erasure.epoch, 1);
        assert_int_equal(erasure.files_scrubbed, 2); /* also what was unlinked before */
        assert_false(remarks_of(&erasure, "is gone"));
        assert_false(storage_lab_holds(&lab, "data", "seventeen herons"));
        is = storage_lab_await(&lab, "mails", 1);
        assert_int_equal(is.erased, 2);
        assert_int_equal(is.live, 1);
    }
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(an_erased_mail_is_gone_and_stays_out),
        CASE(a_copy_that_is_gone_is_said_and_not_counted),
        CASE(folders_of_copies_go_with_their_last_file),
        CASE(damaged_fingerprints_verify_nothing),
        CASE(nothing_clear_of_a_subject_reaches_postgres),
        CASE(the_same_request_again_is_the_same_erasure),
        CASE(it_is_not_in_force_before_the_holder_has_answered),
        CASE(a_dataset_that_an_open_erasure_looks_into_is_not_removed),
        CASE(a_reference_is_scrubbed_in_place_and_its_other_lines_stay),
        CASE(a_file_of_any_age_is_scrubbed_and_keeps_its_time),
        CASE(a_replaced_source_does_not_bring_an_erased_line_back),
        CASE(a_death_at_each_step_only_repeats_work),
        CASE(a_file_that_cannot_be_written_is_named_and_holds_up_nothing_else),
        CASE(a_file_that_cannot_be_read_is_erased_when_it_can),
        CASE(a_folder_that_cannot_be_written_holds_its_files),
        CASE(the_same_person_again_is_an_erasure_of_what_is_left),
    };
    return storage_lab_run(&lab, "storage: erasure", tests, WEIR_COUNT(tests));
}
