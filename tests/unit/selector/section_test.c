/* The `selection` section: what is understood, what is refused, and where. */
#include "selector/pipelines/section.h"

#include "core/base/file.h"
#include "selector/scoring/scoring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define DATASETS "datasets: [{name: mails, label: {from: manifest, classes: [ham, spam]}}]\n"

static enum weir_status read(const char *text, struct weir_yaml **document,
                             struct selector_section **section, struct weir_error *err)
{
    assert_int_equal(weir_yaml_parse("p.yaml", weir_bytes_of(text), document, err), WEIR_OK);
    return selector_section_read(weir_yaml_root(*document), section, err);
}

static void a_section_is_read_with_its_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *policy;
        uint64_t limit, tail, seed;
        double ratio;
    } ROWS[] = {
        {"selection: {policy: random}", "random", UINT64_MAX, 0, 0, 1},
        {"selection: {policy: new_data, limit: 10, keep: random}", "new_data", 10, 0, 0, 1},
        {"selection: {policy: random, limit: none, tail_triggers: all, seed: 7}", "random",
         UINT64_MAX, UINT64_MAX, 7, 1},
        {DATASETS "selection: {policy: label_balanced, ratio: 0.5, tail_triggers: 2}",
         "label_balanced", UINT64_MAX, 2, 0, 0.5},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        WEIR_AUTO(weir_yaml) document = NULL;
        WEIR_AUTO(selector_section) section = NULL;
        struct weir_error err = {0};
        if (read(ROWS[i].text, &document, &section, &err) != WEIR_OK)
            fail_msg("%s: %s", ROWS[i].text, err.text);
        assert_string_equal(section->policy->name, ROWS[i].policy);
        assert_true(section->limit == ROWS[i].limit);
        assert_true(section->tail == ROWS[i].tail);
        assert_true(section->seed == ROWS[i].seed);
        assert_true(section->ratio == ROWS[i].ratio);
    }
}

/* In the order of the datasets that samples are selected from: those of labels are none. */
static void datasets_are_followed_without_those_of_labels(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(selector_section) section = NULL;
    struct weir_error err = {0};
    static const char FILE_TEXT[] =
        "datasets:\n"
        "  - {name: verdicts, updates: mails, label: {field: y, classes: [ham, spam]}}\n"
        "  - {name: tests, use: evaluation}\n"
        "  - {name: mails, label: {from: updates}, holdout: {share: 0.5}, use: [trigger, selection]}\n"
        "selection: {policy: mixture, tail_triggers: all, shares: {mails: 1}}\n";
    if (read(FILE_TEXT, &document, &section, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(section->dataset_count, 2);
    assert_false(section->are_selected[0]);
    assert_true(section->are_selected[1]);
    assert_string_equal(section->dataset_names[0], ""); /* no share of it can be asked for */
    assert_string_equal(section->dataset_names[1], "mails");
    assert_true(section->holdouts[0].bound == 0 && section->holdouts[1].bound > 0);
    assert_int_equal(section->class_count, 2);
    assert_null(section->unlabelled); /* nor is a label missing that nobody learns */
}

static void declared_classes_are_known_by_their_number(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(selector_section) section = NULL;
    struct weir_error err;
    assert_int_equal(read(DATASETS "selection: {policy: random}", &document, &section, &err),
                     WEIR_OK);
    assert_int_equal(section->class_count, 2);
    assert_string_equal(section->classes[1], "spam");
}

static void the_shipped_coreset_is_what_it_says(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(selector_section) section = NULL;
    WEIR_AUTO_BUF text = {0};
    struct weir_error err = {0};
    assert_int_equal(weir_file_read(WEIR_SOURCE_DIR "/config/pipelines/coreset.yaml",
                                    WEIR_YAML_BYTES_MAX, &text, &err),
                     WEIR_OK);
    if (read(weir_buf_text(&text), &document, &section, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    const struct selection_scored *third = selector_section_scored(section, 3);
    const struct selection_scored *fourth = selector_section_scored(section, 4);
    assert_string_equal(third->method->name, "loss");
    assert_string_equal(fourth->method->name, "k_center");
    assert_true(fourth->balance && !third->balance && third->from == NULL);
    assert_string_equal(section->presample->policy->name, "random");
    assert_true(section->presample->ratio == 0.5 && section->ratio == 0.2);
    assert_int_equal(section->warmup, 1);
    assert_true(section->needs & SELECTION_NEEDS_LABELS);
}

struct mistake {
    const char *text;
    const char *complaint;
};

static void assert_refused(const struct mistake *mistake)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(selector_section) section = NULL;
    struct weir_error err = {0};
    assert_int_equal(read(mistake->text, &document, &section, &err), WEIR_INVALID);
    if (strstr(err.text, mistake->complaint) == NULL)
        fail_msg("%s: expected '%s', found '%s'", mistake->text, mistake->complaint, err.text);
}

static void mistakes_are_placed_and_explained(void **state)
{
    (void)state;
    static const struct mistake ROWS[] = {
        {"pipeline: {}", "p.yaml:1:1: selection: expected a section with a policy"},
        {"selection: {limit: 3}", "the key 'policy' is missing"},
        {"selection: {policy: randm}",
         "p.yaml:1:21: selection.policy: unknown selection policy 'randm' (did you mean random?)"},
        {"selection: {policy: guesswork}",
         "p.yaml:1:21: selection.policy: unknown selection policy 'guesswork', expected one of "
         "new_data, freshness, random, random_without_replacement, recency_weighted, reservoir, "
         "label_balanced, trigger_balanced, mixture, coreset"},
        {"selection: {policy: trigger_balanced, tail_triggers: 0}",
         "p.yaml:1:54: selection.tail_triggers: trigger_balanced chooses among samples of earlier "
         "triggers: expected 1, 2, ... or all, found 0"},
        {"selection: {policy: freshness, unused_ratio: 0.5}",
         "freshness chooses among samples of earlier triggers: expected 1, 2, ... or all, found 0"},
        {"selection: {policy: reservoir, size: 5, tail_triggers: 3}", "expected all, found 3"},
        {"dataset: {name: c, holdout: {share: 1}}\nselection: {policy: random}",
         "datasets[0].holdout.share: expected"},
        {"dataset: {name: clicks}\nselection: {policy: mixture, over: labels, shares: {1: 1}}",
         "mixture needs labels, and dataset 'clicks' declares none"},
        {"dataset: {name: clicks}\nselection: {policy: mixture, shares: {views: 1}}",
         "p.yaml:2:39: selection.shares: expected a dataset of this file, found 'views'"},
        {"dataset: {name: clicks}\n"
         "selection: {policy: mixture, shares: {clicks: 1}, change: loss}",
         "p.yaml:2:59: selection.change: loss goes by what training reports: expected "
         "training.report_losses: true"},
        {"dataset: {name: clicks}\ntraining: {report_losses: true}\n"
         "selection: {policy: coreset, score: {method: loss},"
         " presample: {policy: mixture, shares: {clicks: 1}, change: loss}}",
         "selection.presample.change: expected step or linear"},
        {"selection: {policy: random, limt: 3}",
         "selection.limt: unknown key (did you mean 'limit'?)"},
        {"selection: {policy: random, keep: newest}", "selection.keep: unknown key"},
        {"selection:\n  policy: random\n  limit: 0",
         "p.yaml:3:10: selection.limit: expected a number of samples >= 1 or none, found '0'"},
        {"selection: {policy: random, tail_triggers: some}",
         "selection.tail_triggers: expected 0, 1, 2, ... or all, found 'some'"},
        {"selection: {policy: random, tail_triggers: -1}", "found '-1'"},
        {"selection: {policy: random, ratio: 0}", "selection.ratio: expected a number above 0"},
        {"selection: {policy: random, ratio: 1.5}", "selection.ratio: expected"},
        {"datasets: [{name: clicks}]\nselection: {policy: label_balanced}",
         "label_balanced needs labels, and dataset 'clicks' declares none"},
        {"dataset: {name: clicks, label: none}\nselection: {policy: label_balanced}",
         "dataset 'clicks' declares none"},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++)
        assert_refused(&ROWS[i]);
}

static void mistakes_in_a_coreset_are_placed_and_explained(void **state)
{
    (void)state;
    static const struct mistake ROWS[] = {
        {"selection: {policy: coreset, limit: 3}", "the key 'score' is missing"},
        {"selection: {policy: coreset, score: {method: los}}",
         "p.yaml:1:46: selection.score.method: unknown scoring method 'los' (did you mean loss?)"},
        {"selection: {policy: coreset, score: {method: guesswork}}",
         "'guesswork', expected one of loss, grad_norm,"},
        {"selection: {policy: coreset, score: {method: loss, metric: margin}}",
         "selection.score.metric: unknown key"},
        {"selection: {policy: coreset, score: [{method: rho_loss, share: 0.2},"
         " {method: loss, from_trigger: 2}, {method: rho_loss, from_trigger: 3}]}",
         "selection.score.share: expected 0.2, as before: the same samples are held out in every "
         "trigger; found 0.1"},
        {"selection: {policy: coreset, score: [{method: loss}, {method: craig}]}",
         "selection.score.from_trigger: expected 1 for the first method and more"},
        {"selection: {policy: coreset, score: {method: rs2, period: 2}}",
         "p.yaml:1:59: selection.score.period: expected none with rs2, which asks no model: found 2"},
        {"selection: {policy: coreset, score: {method: loss, period: 2},"
         " batch_then_sample: {score: loss, ratio: 0.5}}",
         "selection.score.period: expected none beside selection.batch_then_sample"},
        {"selection: {policy: coreset, score: {method: loss, period: -1}}",
         "selection.score.period: expected"},
        {"selection: {policy: coreset, score: {method: loss}, scores: {of: lab}}",
         "selection.scores.of: unknown key"},
        {"selection: {policy: coreset, score: {method: loss}, presample: {policy: randm}}",
         "selection.presample.policy: unknown selection policy 'randm'"},
        {"selection: {policy: coreset, score: {method: loss}, presample: {policy: random, seed: 1}}",
         "selection.presample.seed: unknown key"},
        {"selection: {policy: coreset, score: {method: loss}, presample: {policy: random, ratio: 2}}",
         "selection.presample.ratio: expected"},
        {"selection: {policy: coreset, score: {method: loss},"
         " presample: {policy: coreset, score: {method: loss}}}",
         "selection.presample.policy: expected a policy that needs no scores"},
        {"selection: {policy: coreset, score: {method: loss}, presample: {policy: trigger_balanced}}",
         "trigger_balanced chooses among samples of earlier triggers"},
        {"dataset: {name: c}\nselection: {policy: coreset, score: {method: loss, balance: true}}",
         "coreset needs labels, and dataset 'c' declares none"},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++)
        assert_refused(&ROWS[i]);
}

static void printed_values_read_back_as_themselves(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(weir_yaml) again = NULL;
    WEIR_AUTO(selector_section) section = NULL;
    WEIR_AUTO_BUF first = {0};
    WEIR_AUTO_BUF second = {0};
    struct weir_error err;
    assert_int_equal(
        read("selection: {policy: new_data, ratio: 0.25, seed: 3}", &document, &section, &err),
        WEIR_OK);
    assert_int_equal(selector_section_print(weir_yaml_root(document), &first, &err), WEIR_OK);
    assert_int_equal(weir_yaml_parse("again.yaml", weir_buf_view(&first), &again, &err), WEIR_OK);
    assert_int_equal(selector_section_print(weir_yaml_root(again), &second, &err), WEIR_OK);
    assert_string_equal(weir_buf_text(&first), weir_buf_text(&second));
    assert_non_null(strstr(weir_buf_text(&first), "keep: newest"));
}

static void every_policy_is_described(void **state)
{
    (void)state;
    WEIR_AUTO_BUF page = {0};
    selector_section_describe(&page);
    for (size_t i = 0; i < selector_policy_count(); i++)
        assert_non_null(strstr(weir_buf_text(&page), selector_policy_at(i)->name));
    assert_non_null(strstr(weir_buf_text(&page), "tail_triggers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_is_read_with_its_defaults),
        cmocka_unit_test(datasets_are_followed_without_those_of_labels),
        cmocka_unit_test(declared_classes_are_known_by_their_number),
        cmocka_unit_test(the_shipped_coreset_is_what_it_says),
        cmocka_unit_test(mistakes_are_placed_and_explained),
        cmocka_unit_test(mistakes_in_a_coreset_are_placed_and_explained),
        cmocka_unit_test(printed_values_read_back_as_themselves),
        cmocka_unit_test(every_policy_is_described),
    };
    return cmocka_run_group_tests_name("selector/section", tests, NULL, NULL);
}
