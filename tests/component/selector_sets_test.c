/* The files of sets: which stay, which go, and that none is half there. */
#include "core/base/clock.h"
#include "selector/retention.h"
#include "selector/sql/queries.h"
#include "tests/component/selector_lab.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t LONG_AGO = 1000000, SOON_US = INT64_C(3600000000);

static bool is_there(const struct fixture *fixture, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s", fixture->dir.path, name);
    return access(path, F_OK) == 0;
}

static void leave_behind(const struct fixture *fixture, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s", fixture->dir.path, name);
    struct weir_error err;
    assert_int_equal(weir_file_write_atomic(path, weir_bytes_of("half"), &err), WEIR_OK);
}

static struct selector_swept sweep(const struct fixture *fixture, int64_t before_us, bool at_start)
{
    struct selector_swept swept;
    struct weir_error err;
    const struct selector *selector = fixture->selector;
    if (selector_retention_sweep(selector->queue.db, fixture->dir.path, before_us, at_start, &swept,
                                 &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return swept;
}

static void the_sets_of_triggers_stay_and_others_go_in_their_time(void **state)
{
    struct fixture *fixture = *state;
    char trigger[512], interval[512];
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: random, limit: 20}", false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    (void)snprintf(trigger, sizeof(trigger), "%s.set", fixture->digest);
    assert_int_equal(lab_seal_interval(fixture, 0, 1030, 1), WEIR_OK);
    (void)snprintf(interval, sizeof(interval), "%s.set", fixture->digest);
    leave_behind(fixture, "sealing.set.tmp");
    leave_behind(fixture, "notes.txt");

    assert_int_equal(sweep(fixture, LONG_AGO, false).removed, 0);
    struct selector_swept swept = sweep(fixture, weir_now_wall_us() + SOON_US, false);
    assert_int_equal(swept.removed, 1);
    assert_true(swept.removed_bytes > 64);
    assert_true(is_there(fixture, trigger));
    assert_false(is_there(fixture, interval));
    assert_true(is_there(fixture, "notes.txt")); /* not ours */
    assert_true(is_there(fixture, "sealing.set.tmp"));

    assert_int_equal(lab_seal_interval(fixture, 0, 1030, 1), WEIR_OK); /* sealed again, the same */
    assert_true(is_there(fixture, interval));
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    lab_restart(fixture); /* nobody writes now */
    assert_false(is_there(fixture, "sealing.set.tmp"));
    assert_true(is_there(fixture, interval) && is_there(fixture, trigger));
}

/* Hands the selector a clock; returns what time it is by the one that sets are kept by. */
static int64_t a_second_passes(const struct fixture *fixture)
{
    struct selector *selector = fixture->selector;
    struct weir_error err;
    assert_int_equal(weir_lived_tick(&selector->lived, selector->queue.db, Q_live,
                                     selector->lived.ticked_ms + 1000, &err),
                     WEIR_OK);
    return selector->lived.us;
}

/* Asking keeps a set, however long ago it was sealed. */
static void what_is_asked_for_stays(void **state)
{
    struct fixture *fixture = *state;
    char interval[512];
    const struct timespec times[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: new_data}", false), WEIR_OK);
    assert_int_equal(lab_seal_interval(fixture, 0, 1030, 1), WEIR_OK);
    (void)snprintf(interval, sizeof(interval), "%s.set", fixture->digest);
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s", fixture->dir.path, interval);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    int64_t before = a_second_passes(fixture);
    assert_int_equal(lab_seal_interval(fixture, 0, 1030, 1), WEIR_OK); /* answered from its row */
    (void)sweep(fixture, before, false);
    assert_true(is_there(fixture, interval));
    assert_int_equal(sweep(fixture, weir_now_wall_us() + SOON_US, false).removed, 1);
}

static void make_old(const struct fixture *fixture)
{
    const struct timespec times[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    const struct selector *selector = fixture->selector;
    WEIR_AUTO_FREE char *folder = weir_format("%s/sets", fixture->dir.path);
    struct weir_error err;
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, entry->d_name);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    closedir(open);
    assert_int_equal(weir_db_exec(selector->queue.db,
                                  "UPDATE interval_set SET used_us = used_us - 5184000000000",
                                  &err),
                     WEIR_OK);
}

/* Killed before the first and before the second file goes: a trigger's set stays, no row names a
 * file that is not there, and who asks again has the same set. */
static void killed_in_a_sweep_sets_are_whole_or_absent(void **state)
{
    static const char *const DEATHS[] = {"selector.sweep=!1", "selector.sweep=!2"};
    struct fixture *fixture = *state;
    char trigger[512], intervals[2][512];
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: random, limit: 20}", false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    (void)snprintf(trigger, sizeof(trigger), "%s.set", fixture->digest);
    for (size_t death = 0; death < WEIR_COUNT(DEATHS); death++) {
        for (size_t i = 0; i < 2; i++) {
            int64_t to = 1010 + 10 * (int64_t)i;
            assert_int_equal(lab_seal_interval(fixture, 1000, to, 1), WEIR_OK);
            (void)snprintf(intervals[i], sizeof(intervals[i]), "%s.set", fixture->digest);
        }
        make_old(fixture);
        lab_stop(fixture);
        lab_wait_for_death(fixture, lab_spawn(fixture, WEIR_BIN_DIR, DEATHS[death]));
        assert_int_equal(is_there(fixture, intervals[0]) + is_there(fixture, intervals[1]),
                         2 - (int)death);
        assert_true(is_there(fixture, trigger));
        lab_start(fixture); /* sweeps again, to the end */
        assert_false(is_there(fixture, intervals[0]) || is_there(fixture, intervals[1]));
        assert_true(is_there(fixture, trigger));
        assert_int_equal(lab_seal_interval(fixture, 1000, 1010, 1), WEIR_OK);
        assert_true(is_there(fixture, intervals[0])); /* the same digest */
        assert_string_equal(lab_rows(fixture), "0-9");
    }
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_int_equal(fixture->samples, 20);
}

/* The newest part. */
struct part {
    bool done;
    enum weir_status status;
    uint64_t samples;
    uint32_t epochs;
    uint64_t ids[64];
    float weights[64];
    int64_t labels[64];
    uint8_t gone[8];
    size_t count, weight_count, label_count;
};

static void on_part(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct part *part = owner;
    part->done = true;
    part->status = reply != NULL ? WEIR_OK : err->status;
    if (reply == NULL)
        return;
    const struct msg_set_part *answer = reply->message;
    assert_int_equal(reply->type, MSG_set_part);
    assert_true(answer->ids.count <= WEIR_COUNT(part->ids));
    part->samples = answer->samples;
    part->epochs = answer->epochs;
    part->count = answer->ids.count;
    part->weight_count = answer->weights.count;
    part->label_count = answer->labels.count;
    memcpy(part->ids, answer->ids.at, part->count * sizeof(*part->ids));
    if (part->weight_count > 0)
        memcpy(part->weights, answer->weights.at, part->weight_count * sizeof(*part->weights));
    if (part->label_count > 0)
        memcpy(part->labels, answer->labels.at, part->label_count * sizeof(*part->labels));
    if (answer->gone.size > 0)
        memcpy(part->gone, answer->gone.at, answer->gone.size);
}

static struct part request_part(struct fixture *fixture, const struct msg_set_read *read)
{
    struct part part = {0};
    weir_rpc_call(fixture->peer, MSG_set_read, read, TEST_PATIENCE_MS, on_part, &part);
    test_loop_until(fixture->loop, &part.done);
    return part;
}

static struct part read_part(struct fixture *fixture, const char *digest, uint64_t first,
                             uint32_t count)
{
    const struct msg_set_read read = {.digest = digest, .first = first, .count = count};
    return request_part(fixture, &read);
}

static void parts_end_to_end_are_the_set(void **state)
{
    struct fixture *fixture = *state;
    struct weir_sample_set set;
    struct weir_error err;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: random, limit: 40}", false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    assert_int_equal(read_part(fixture, "", 0, 1).status, WEIR_INVALID); /* before any is open */
    for (uint64_t first = 0; first < 40; first += 15) {
        struct part part = read_part(fixture, fixture->digest, first, 15);
        assert_int_equal(part.status, WEIR_OK);
        assert_int_equal(part.samples, 40);
        assert_int_equal(part.count, first == 30 ? 10 : 15);
        assert_memory_equal(part.ids, set.ids + first, part.count * sizeof(*part.ids));
    }
    weir_sample_set_close(&set);
    assert_int_equal(read_part(fixture, fixture->digest, 40, 15).count, 0);
    assert_int_equal(read_part(fixture, fixture->digest, 41, 1).status, WEIR_INVALID);
    assert_int_equal(read_part(fixture, fixture->digest, 0, 1 << 21).status, WEIR_INVALID);
    assert_int_equal(read_part(fixture, "../../etc/passwd", 0, 1).status, WEIR_INVALID);
    assert_int_equal(read_part(fixture, "00000000000000000000000000000000", 0, 1).status,
                     WEIR_NOT_FOUND);
}

/* Samples of two blocks; those erased since have no labels. */
static void parts_come_with_labels_when_they_are_wanted(void **state)
{
    struct fixture *fixture = *state;
    struct weir_sample_set set;
    struct weir_error err;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    fixture->script.changes[fixture->script.change_count++] = (struct change){
        .kind = WEIR_CHANGE_ADDED, .first = weir_sample_id(DATASET, 1, 0), .count = 10};
    assert_int_equal(
        lab_open_pipeline(fixture,
                          "{policy: recency_weighted, half_life: 1us, tail_triggers: all,"
                          " limit: 15, weights: importance}",
                          false),
        WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 2), WEIR_OK);
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    fixture->script.changes[fixture->script.change_count++] =
        (struct change){.kind = WEIR_CHANGE_ERASED, .first = set.ids[5], .count = 1};
    const struct msg_set_read read = {
        .digest = fixture->digest, .first = 3, .count = 10, .labels = true};
    struct part part = request_part(fixture, &read);
    assert_int_equal(part.status, WEIR_OK);
    assert_int_equal(part.count, 10);
    assert_int_equal(part.label_count, 10);
    assert_int_equal(part.weight_count, 10);
    assert_memory_equal(part.ids, set.ids + 3, 10 * sizeof(*part.ids));
    assert_memory_equal(part.weights, set.weights + 3, 10 * sizeof(*part.weights));
    for (size_t i = 0; i < part.count; i++) {
        bool gone = i == 2;
        assert_int_equal(part.gone[i / 8] >> (i % 8) & 1, gone);
        assert_int_equal(part.labels[i], !gone && weir_sample_row(part.ids[i]) % 3 == 0);
    }
    weir_sample_set_close(&set);
    assert_int_equal(read_part(fixture, fixture->digest, 0, 15).label_count, 0);
}

/* More is refused than memory is meant for; who is refused asks again. */
static void labels_are_read_for_few_at_a_time(void **state)
{
    struct fixture *fixture = *state;
    struct part parts[12];
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: random}", false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(parts); i++) {
        const struct msg_set_read read = {
            .digest = fixture->digest, .first = i, .count = 5, .labels = true};
        parts[i] = (struct part){0};
        weir_rpc_call(fixture->peer, MSG_set_read, &read, TEST_PATIENCE_MS, on_part, &parts[i]);
    }
    for (size_t i = 0; i < WEIR_COUNT(parts); i++) {
        test_loop_until(fixture->loop, &parts[i].done);
        assert_true(parts[i].status == WEIR_OK || parts[i].status == WEIR_UNAVAILABLE);
        assert_int_equal(parts[i].count, parts[i].status != WEIR_OK ? 0 : 5);
    }
    assert_int_equal(parts[0].status, WEIR_OK);
}

/* The samples of each epoch, end to end, are those of the file. */
static void epochs_are_served_apart(void **state)
{
    struct fixture *fixture = *state;
    struct weir_sample_set set;
    struct weir_error err;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(lab_open_pipeline(fixture,
                                       "{policy: coreset, limit: 7, score: {method: rs2}}\n"
                                       "training: {epochs: 3}",
                                       false),
                     WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    assert_int_equal(read_part(fixture, fixture->digest, 0, 60).epochs, 3);
    for (uint32_t epoch = 1; epoch <= 3; epoch++)
        for (uint64_t first = 0; first < 7; first += 4) {
            const struct msg_set_read read = {.digest = fixture->digest,
                                              .first = first,
                                              .count = 4,
                                              .epoch = epoch,
                                              .labels = true};
            struct part part = request_part(fixture, &read);
            assert_int_equal(part.status, WEIR_OK);
            assert_int_equal(part.samples, 7);
            assert_int_equal(part.count, first ? 3 : 4);
            assert_int_equal(part.label_count, part.count);
            for (size_t i = 0; i < part.count; i++)
                assert_int_equal(part.ids[i],
                                 set.ids[set.parts.indices[(size_t)(epoch - 1) * 7 + first + i]]);
        }
    const struct msg_set_read beyond = {.digest = fixture->digest, .count = 1, .epoch = 4};
    assert_int_equal(request_part(fixture, &beyond).status, WEIR_INVALID);
    weir_sample_set_close(&set);
}

static void an_epoch_of_a_damaged_set_is_not_served(void **state)
{
    struct fixture *fixture = *state;
    struct weir_sample_set set;
    struct weir_error err;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(lab_open_pipeline(fixture,
                                       "{policy: coreset, limit: 7, score: {method: rs2}}\n"
                                       "training: {epochs: 3}",
                                       false),
                     WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    off_t at = (off_t)((const char *)set.parts.indices - (const char *)set.map);
    int file = open(fixture->path, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, "\xff\xff\xff\x7f", 4, at), 4);
    close(file);
    weir_sample_set_close(&set);
    const struct msg_set_read read = {.digest = fixture->digest, .count = 7, .epoch = 1};
    assert_int_equal(request_part(fixture, &read).status, WEIR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_sets_of_triggers_stay_and_others_go_in_their_time,
                                        lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(what_is_asked_for_stays, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(killed_in_a_sweep_sets_are_whole_or_absent, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(parts_end_to_end_are_the_set, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(parts_come_with_labels_when_they_are_wanted, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(labels_are_read_for_few_at_a_time, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(epochs_are_served_apart, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(an_epoch_of_a_damaged_set_is_not_served, lab_setup,
                                        lab_teardown),
    };
    return cmocka_run_group_tests_name("selector sets", tests, lab_setup_group, lab_teardown_group);
}
