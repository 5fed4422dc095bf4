/* Sets as workers with keys see them: those of their tenant's datasets alone, and labels in turns. */
#include "core/wire/sample.h"
#include "tests/component/selector_lab.h"
#include "tests/support/keyed.h"

enum { RED, BLUE, NOBODYS, PEOPLE };
enum { MAILS = 2, CLICKS = 3 };

static const struct keyed_person WHO[PEOPLE] = {
    [RED] = {"red-1", WEIR_ROLE_WORKER, "red"},
    [BLUE] = {"blue-1", WEIR_ROLE_WORKER, "blue"},
    [NOBODYS] = {"all-1", WEIR_ROLE_WORKER, ""},
};

static struct keyed keyed;

static int begin(void **state)
{
    keyed = (struct keyed){.done = false};
    return lab_setup(state);
}

static int end(void **state)
{
    keyed_end(&keyed);
    return lab_teardown(state);
}

static void open_pipeline(struct fixture *fixture, const char *pipeline, const char *tenant,
                          struct weir_u64s datasets)
{
    static const char CONFIG[] = "datasets: [{name: mails, label: {from: manifest, classes: [ham, "
                                 "spam]}}]\nselection: {policy: new_data}\n";
    const struct msg_selection_open open = {.pipeline = pipeline,
                                            .file = "a.yaml",
                                            .config = weir_bytes_of(CONFIG),
                                            .datasets = datasets,
                                            .tenant = tenant};

    assert_int_equal(lab_request(fixture, MSG_selection_open, &open), WEIR_OK);
}

/* Seals these samples; the fixture has the digest. */
static void seal(struct fixture *fixture, const uint64_t *ids, size_t count)
{
    const struct msg_window_seal window = {.pipeline = "mine", .ids = {ids, count}};

    assert_int_equal(lab_request(fixture, MSG_window_seal, &window), WEIR_OK);
}

static enum weir_status read_set(const struct fixture *fixture, size_t who)
{
    const struct msg_set_read read = {.digest = fixture->digest, .count = 10};

    return keyed_ask(&keyed, who, MSG_set_read, &read);
}

static void a_worker_reads_no_set_of_another_tenant(void **state)
{
    static const enum weir_message CASES[] = {MSG_set_read};
    static const uint64_t DATASETS[] = {MAILS, CLICKS};
    const uint64_t ids[] = {weir_sample_id(MAILS, 0, 1), weir_sample_id(MAILS, 0, 7)};
    struct fixture *fixture = *state;

    open_pipeline(fixture, "mine", "red", (struct weir_u64s){DATASETS, 1});
    open_pipeline(fixture, "theirs", "blue", (struct weir_u64s){DATASETS + 1, 1});
    seal(fixture, ids, 2);
    keyed_begin(&keyed, fixture->loop, fixture->server, WHO, PEOPLE);
    assert_int_equal(read_set(fixture, RED), WEIR_OK);
    assert_int_equal(read_set(fixture, NOBODYS), WEIR_OK);
    assert_int_equal(read_set(fixture, BLUE), WEIR_DENIED);
    assert_string_equal(keyed.words, "the key of 'blue-1' is for tenant 'blue', who has no "
                                     "pipeline with dataset 2");
    const struct msg_set_read none = {.digest = fixture->digest},
                              labels = {.digest = fixture->digest, .count = 1, .labels = true},
                              epoch = {.digest = fixture->digest, .count = 1, .epoch = 1};
    assert_int_equal(keyed_ask(&keyed, BLUE, MSG_set_read, &none), WEIR_DENIED);
    assert_int_equal(keyed_ask(&keyed, BLUE, MSG_set_read, &labels), WEIR_DENIED);
    assert_int_equal(keyed_ask(&keyed, BLUE, MSG_set_read, &epoch), WEIR_DENIED);
    keyed_assert_covered(SELECTOR_HANDLERS, CASES, WEIR_COUNT(CASES));
}

/* Once more after a restart, when nobody has opened the pipelines again. */
static void every_dataset_of_a_set_has_to_be_the_tenants(void **state)
{
    static const uint64_t DATASETS[] = {MAILS, CLICKS};
    const uint64_t ids[] = {weir_sample_id(MAILS, 0, 1), weir_sample_id(MAILS, 5, 1),
                            weir_sample_id(CLICKS, 0, 1)};
    struct fixture *fixture = *state;

    open_pipeline(fixture, "mine", "red", (struct weir_u64s){DATASETS, 2});
    open_pipeline(fixture, "theirs", "blue", (struct weir_u64s){DATASETS, 1});
    seal(fixture, ids, 3);
    lab_restart(fixture);
    keyed_begin(&keyed, fixture->loop, fixture->server, WHO, PEOPLE);
    assert_int_equal(read_set(fixture, RED), WEIR_OK);
    assert_int_equal(read_set(fixture, BLUE), WEIR_DENIED);
    seal(fixture, ids, 2);
    assert_int_equal(read_set(fixture, BLUE), WEIR_OK);
    open_pipeline(fixture, "theirs", "", (struct weir_u64s){DATASETS, 1});
    seal(fixture, ids, 2);
    assert_int_equal(read_set(fixture, BLUE), WEIR_DENIED);
}

struct heard {
    bool done;
    enum weir_status status;
};

static void on_labels(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct heard *heard = owner;

    heard->done = true;
    heard->status = reply != NULL ? WEIR_OK : err->status;
}

/* Storage is silent, so that nothing that has begun ends. */
static void one_key_leaves_labels_to_be_read_by_others(void **state)
{
    static const uint64_t DATASETS[] = {MAILS};
    const uint64_t ids[] = {weir_sample_id(MAILS, 0, 1)};
    struct fixture *fixture = *state;
    struct heard red[SELECTOR_LABELLINGS_MAX] = {{0}}, all = {0};

    open_pipeline(fixture, "mine", "red", (struct weir_u64s){DATASETS, 1});
    seal(fixture, ids, 1);
    const struct msg_set_read read = {.digest = fixture->digest, .count = 1, .labels = true};
    keyed_begin(&keyed, fixture->loop, fixture->server, WHO, PEOPLE);
    assert_int_equal(read_set(fixture, RED), WEIR_OK);
    assert_int_equal(read_set(fixture, NOBODYS), WEIR_OK);
    fixture->script.is_silent = true;
    for (size_t i = 0; i < SELECTOR_LABELLINGS_MAX; i++)
        weir_rpc_call(keyed.peers[RED], MSG_set_read, &read, TEST_PATIENCE_MS, on_labels, &red[i]);
    assert_int_equal(read_set(fixture, RED), WEIR_OK); /* all of them have come */
    weir_rpc_call(keyed.peers[NOBODYS], MSG_set_read, &read, TEST_PATIENCE_MS, on_labels, &all);
    assert_int_equal(read_set(fixture, NOBODYS), WEIR_OK);
    assert_int_equal(fixture->script.column_reads, SELECTOR_LABELLINGS_MAX / 2 + 1);
    for (size_t i = 0; i < SELECTOR_LABELLINGS_MAX; i++)
        assert_false(red[i].done);
    assert_false(all.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_reads_no_set_of_another_tenant, begin, end),
        cmocka_unit_test_setup_teardown(one_key_leaves_labels_to_be_read_by_others, begin, end),
        cmocka_unit_test_setup_teardown(every_dataset_of_a_set_has_to_be_the_tenants, begin, end),
    };
    return cmocka_run_group_tests_name("selector tenants", tests, lab_setup_group,
                                       lab_teardown_group);
}
