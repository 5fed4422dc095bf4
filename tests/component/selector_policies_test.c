/* Policies learn of the pipeline's past, and weights are sealed. */
#include "core/wire/outputs.h"
#include "tests/component/selector_lab.h"

static void each_trigger_of_the_tail_has_its_share(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 4);
    lab_change(fixture, WEIR_CHANGE_ADDED, 4, 4);
    lab_change(fixture, WEIR_CHANGE_ADDED, 8, 100);
    const char *selection = "{policy: trigger_balanced, tail_triggers: all, limit: 30}";
    assert_int_equal(lab_open_pipeline(fixture, selection, false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_int_equal(fixture->samples, 4);
    assert_int_equal(lab_select_live(fixture, 2, 2), WEIR_OK);
    assert_int_equal(fixture->samples, 8);
    assert_int_equal(lab_select_live(fixture, 3, 3), WEIR_OK);
    assert_int_equal(fixture->samples, 30);
    assert_int_equal(fixture->script.column_reads, 0);
    assert_memory_equal(lab_rows(fixture), "0-7 ", 4);
}

static void a_replay_knows_its_triggers_by_time(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    const char *selection = "{policy: trigger_balanced, tail_triggers: all, limit: 30}";
    assert_int_equal(lab_open_pipeline(fixture, selection, true), WEIR_OK);
    assert_int_equal(lab_select_replay(fixture, 1, 1, 3), WEIR_OK);
    assert_int_equal(lab_select_replay(fixture, 2, 1, 7), WEIR_OK);
    assert_int_equal(lab_select_replay(fixture, 3, 1, 99), WEIR_OK);
    assert_int_equal(fixture->samples, 30);
    assert_memory_equal(lab_rows(fixture), "0-7 ", 4);
}

/* Limits are of the whole selection, however many blocks it spans. */
static void a_limit_is_global(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t block = 0; block < 3; block++) {
        fixture->script.changes[block] = (struct change){
            .kind = WEIR_CHANGE_ADDED, .first = weir_sample_id(DATASET, block, 0), .count = 1000};
        fixture->script.change_count++;
    }
    assert_int_equal(lab_open_pipeline(fixture, "{policy: random, limit: 500}", false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 3), WEIR_OK);
    assert_int_equal(fixture->samples, 500);
}

static void epochs_go_on_after_a_restart(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    const char *selection = "{policy: random_without_replacement, tail_triggers: all, limit: 4}";
    assert_int_equal(lab_open_pipeline(fixture, selection, false), WEIR_OK);
    unsigned uses[10] = {0};
    for (uint64_t trigger = 1; trigger <= 10; trigger++) {
        struct weir_sample_set set = {0};
        struct weir_error err;
        assert_int_equal(lab_select_live(fixture, trigger, 1), WEIR_OK);
        assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
        assert_int_equal(set.count, 4);
        for (size_t i = 0; i < set.count; i++)
            uses[weir_sample_row(set.ids[i])]++;
        weir_sample_set_close(&set);
        for (size_t row = 0; row < 10; row++)
            assert_in_range(uses[row], trigger * 4 / 10, (trigger * 4 + 9) / 10);
        lab_stop(fixture);
        lab_start(fixture);
    }
}

/* Counts the samples of the newest set in this row or a later one. */
static size_t count_from(struct fixture *fixture, uint32_t row)
{
    struct weir_sample_set set = {0};
    struct weir_error err;
    size_t count = 0;
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    for (size_t i = 0; i < set.count; i++)
        count += weir_sample_row(set.ids[i]) >= row;
    weir_sample_set_close(&set);
    return count;
}

/* Used means used here: what another pipeline trained on is as fresh as ever. */
static void freshness_is_of_one_pipeline(void **state)
{
    struct fixture *fixture = *state;
    static const uint64_t DATASETS[] = {DATASET};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    lab_change(fixture, WEIR_CHANGE_ADDED, 10, 5);
    const struct msg_selection_open other = {
        .pipeline = "other",
        .file = "other.yaml",
        .config = weir_bytes_of("datasets: [{name: mails}]\nselection: {policy: new_data}\n"),
        .datasets = {DATASETS, 1},
    };
    const uint64_t position = 2;
    const struct msg_select all = {.pipeline = "other", .trigger = 1, .positions = {&position, 1}};
    assert_int_equal(lab_request(fixture, MSG_selection_open, &other), WEIR_OK);
    assert_int_equal(lab_request(fixture, MSG_select, &all), WEIR_OK);
    assert_int_equal(fixture->samples, 15);
    const char *selection = "{policy: freshness, unused_ratio: 0.5, tail_triggers: all}";
    assert_int_equal(lab_open_pipeline(fixture, selection, false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "0-9");
    assert_int_equal(lab_select_live(fixture, 2, 2), WEIR_OK);
    assert_int_equal(fixture->samples, 10);
    assert_int_equal(count_from(fixture, 10), 5);
    assert_int_equal(lab_select_live(fixture, 3, 2), WEIR_OK);
    assert_string_equal(fixture->digest, "");
    assert_string_equal(fixture->text,
                        "every candidate was used before: nothing fresh keeps the ratio");
}

static void weights_are_sealed_and_a_warm_up_takes_all(void **state)
{
    struct fixture *fixture = *state;
    struct weir_sample_set set = {0};
    struct weir_error err;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 50);
    lab_change(fixture, WEIR_CHANGE_ADDED, 50, 50);
    const char *selection = "{policy: recency_weighted, half_life: 10us, warmup_triggers: 1, "
                            "tail_triggers: all, limit: 20}";
    assert_int_equal(lab_open_pipeline(fixture, selection, false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "0-49");
    assert_int_equal(lab_select_live(fixture, 2, 2), WEIR_OK);
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    assert_int_equal(set.count, 20);
    assert_non_null(set.weights);
    for (size_t i = 0; i + 1 < set.count; i++)
        assert_true(set.weights[i] > set.weights[i + 1] && set.weights[i + 1] >= 1);
    weir_sample_set_close(&set);
}

static void request_preview(struct fixture *fixture, uint64_t position)
{
    const struct msg_preview asked = {.pipeline = "quick", .positions = {&position, 1}};
    assert_int_equal(lab_request(fixture, MSG_preview, &asked), WEIR_OK);
}

static void check_groups(const struct fixture *fixture, const char *const *lines)
{
    for (; *lines != NULL; lines++)
        if (strstr(fixture->preview, *lines) == NULL)
            fail_msg("expected '%s' in\n%s", *lines, fixture->preview);
}

static void a_preview_tells_what_the_next_trigger_picks_and_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    static const char *const BY_LABEL[] = {"label ham 15/40 its share by the policy\n",
                                           "label spam 15/20 its share by the policy\n",
                                           "trigger 1 ", "trigger 2 ", NULL};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 30);
    lab_change(fixture, WEIR_CHANGE_ADDED, 30, 30);
    const char *selection = "{policy: label_balanced, tail_triggers: all, limit: 30}";
    assert_int_equal(lab_open_pipeline(fixture, selection, false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    for (int again = 0; again < 2; again++) {
        request_preview(fixture, 2);
        assert_int_equal(fixture->samples, 30);
        assert_int_equal(fixture->candidates, 60);
        check_groups(fixture, BY_LABEL);
    }
    assert_int_equal(lab_select_live(fixture, 2, 2), WEIR_OK);
    assert_int_equal(fixture->samples, 30);
}

static void a_preview_tells_what_was_used(void **state)
{
    struct fixture *fixture = *state;
    static const char *const GROUPS[] = {
        "past never used 5/5 all there are\n", "past used before 5/10 its share by the policy\n",
        "trigger 1 5/10 by chance, limit and ratio\n", "trigger 2 5/5 all there are\n", NULL};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    lab_change(fixture, WEIR_CHANGE_ADDED, 10, 5);
    const char *selection =
        "{policy: freshness, unused_ratio: 0.5, warmup_triggers: 1, tail_triggers: all}";
    assert_int_equal(lab_open_pipeline(fixture, selection, false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    request_preview(fixture, 2);
    check_groups(fixture, GROUPS);
    request_preview(fixture, 1);
    assert_int_equal(fixture->samples, 0);
}

static void open_with_holdout(struct fixture *fixture, const char *selection)
{
    static const uint64_t DATASETS[] = {DATASET};
    WEIR_AUTO_FREE char *config =
        weir_format("datasets: [{name: mails, holdout: {share: 0.2}}]\nselection: %s\n", selection);
    const struct msg_selection_open open = {.pipeline = "quick",
                                            .file = "quick.yaml",
                                            .config = weir_bytes_of(config),
                                            .datasets = {DATASETS, 1}};
    assert_int_equal(lab_request(fixture, MSG_selection_open, &open), WEIR_OK);
}

static void mark_rows(struct fixture *fixture, bool *marked)
{
    struct weir_sample_set set = {0};
    struct weir_error err;
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    for (size_t i = 0; i < set.count; i++)
        marked[weir_sample_row(set.ids[i])] = true;
    weir_sample_set_close(&set);
}

static void no_training_set_touches_the_holdout(void **state)
{
    enum { ROWS = 5000 };
    struct fixture *fixture = *state;
    static bool held[ROWS], trained[ROWS];
    const uint64_t position = 2;
    const struct msg_interval_seal seal = {.pipeline = "quick",
                                           .from_time = 0,
                                           .to_time = 1000000,
                                           .positions = {&position, 1},
                                           .holdout = true};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, ROWS / 2);
    lab_change(fixture, WEIR_CHANGE_ADDED, ROWS / 2, ROWS / 2);
    open_with_holdout(fixture, "{policy: new_data}");
    for (uint64_t trigger = 1; trigger <= 2; trigger++) {
        assert_int_equal(lab_select_live(fixture, trigger, trigger), WEIR_OK);
        mark_rows(fixture, trained);
    }
    assert_int_equal(lab_request(fixture, MSG_interval_seal, &seal), WEIR_OK);
    assert_in_range(fixture->samples, ROWS / 5 - 100, ROWS / 5 + 100); /* 3.5 deviations */
    mark_rows(fixture, held);
    for (size_t row = 0; row < ROWS; row++)
        assert_true(held[row] != trained[row]);
    assert_int_equal(lab_seal_interval(fixture, 0, 1000000, 2), WEIR_OK);
    assert_int_equal(fixture->samples, ROWS);
}

/* ---- shares by loss ---- */

/* Reports the newest set as a training would: spam costs 2, ham a half. */
static void report(struct fixture *fixture, const char *model)
{
    struct weir_sample_set set = {0};
    struct weir_error err;
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(set.count, sizeof(*labels));
    WEIR_AUTO_FREE float *values = weir_calloc(set.count, 2 * sizeof(*values));
    for (size_t i = 0; i < set.count; i++) {
        labels[i] = weir_sample_row(set.ids[i]) % 3 == 0;
        values[2 * i] = labels[i] ? 2 : 0.5F;
    }
    const struct weir_outputs outputs = {
        .ids = set.ids, .labels = labels, .values = values, .count = set.count, .width = 2};
    const char *path = temp_path(&fixture->dir, "outputs");
    assert_int_equal(weir_outputs_write(path, &outputs, &err), WEIR_OK);
    WEIR_AUTO_FREE char *digest = weir_strdup(fixture->digest);
    const struct msg_scores_take take = {.pipeline = "quick",
                                         .mode = "score",
                                         .model = model,
                                         .digest = digest,
                                         .outputs = path,
                                         .partial = true};
    assert_int_equal(lab_request(fixture, MSG_scores_take, &take), WEIR_OK);
    weir_sample_set_close(&set);
}

static struct msg_select ask_for(uint64_t trigger, const char *model)
{
    static const uint64_t POSITION = 1;
    return (struct msg_select){
        .pipeline = "quick", .trigger = trigger, .positions = {&POSITION, 1}, .model = model};
}

static size_t spam_of(struct fixture *fixture)
{
    struct weir_sample_set set = {0};
    struct weir_error err;
    size_t spam = 0;
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    assert_int_equal(set.count, 30);
    for (size_t i = 0; i < set.count; i++)
        spam += weir_sample_row(set.ids[i]) % 3 == 0;
    weir_sample_set_close(&set);
    return spam;
}

/* The rule gives spam 0.7858 of 30, then 0.8984; a model's losses count once, and shares outlive the selector. */
static void shares_follow_what_each_training_reported(void **state)
{
    static const struct {
        const char *model, *scored_by, *dies_at;
        size_t spam;
    } ROWS[] = {
        {"", "", NULL, 15},
        {"m-1", "m-1", "selector.sealed", 24},
        {"m-1", "m-1", "selector.answer", 24},        /* trained on nothing: the same model again */
        {"m-1-again", "m-1", "selector.sealing", 24}, /* it has reported nothing */
        {"m-2", "m-2", NULL, 27},
    };
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture,
                                       "{policy: mixture, over: labels, shares: {ham: 1, spam: 1},"
                                       " change: loss, limit: 30, tail_triggers: all}\n"
                                       "training: {report_losses: true}",
                                       false),
                     WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        const struct msg_select select = ask_for(i + 1, ROWS[i].model);
        assert_int_equal(ROWS[i].dies_at != NULL
                             ? lab_request_through_death(fixture, WEIR_BIN_DIR, ROWS[i].dies_at,
                                                         MSG_select, &select)
                             : lab_request(fixture, MSG_select, &select),
                         WEIR_OK);
        assert_int_equal(spam_of(fixture), ROWS[i].spam);
        assert_string_equal(fixture->model, ROWS[i].scored_by);
        if (i == 0)
            report(fixture, "m-1");
        if (i == 1)
            report(fixture, "m-2");
    }
}

static void a_preview_tells_shares_and_why(void **state)
{
    static const uint64_t POSITION = 1;
    struct fixture *fixture = *state;
    const struct msg_preview preview = {
        .pipeline = "quick", .positions = {&POSITION, 1}, .model = "m-1"};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture,
                                       "{policy: mixture, over: labels, shares: {ham: 1, spam: 1},"
                                       " change: loss, limit: 30, tail_triggers: all}\n"
                                       "training: {report_losses: true}",
                                       false),
                     WEIR_OK);
    const struct msg_select first = ask_for(1, "");
    assert_int_equal(lab_request(fixture, MSG_select, &first), WEIR_OK);
    report(fixture, "m-1");
    assert_int_equal(lab_request(fixture, MSG_preview, &preview), WEIR_OK);
    assert_string_equal(fixture->model, "m-1");
    assert_non_null(strstr(fixture->preview,
                           "component ham 6/66 share 0.2142, mean loss 0.5 of 15 samples in "
                           "training m-1\ncomponent spam 24/34 share 0.7858, mean loss 2 of 15 "
                           "samples in training m-1\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_trigger_of_the_tail_has_its_share, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_replay_knows_its_triggers_by_time, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_limit_is_global, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(epochs_go_on_after_a_restart, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(freshness_is_of_one_pipeline, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(weights_are_sealed_and_a_warm_up_takes_all, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(
            a_preview_tells_what_the_next_trigger_picks_and_changes_nothing, lab_setup,
            lab_teardown),
        cmocka_unit_test_setup_teardown(no_training_set_touches_the_holdout, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_preview_tells_what_was_used, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(shares_follow_what_each_training_reported, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_preview_tells_shares_and_why, lab_setup, lab_teardown),
    };
    return cmocka_run_group_tests_name("selector policies", tests, lab_setup_group,
                                       lab_teardown_group);
}
