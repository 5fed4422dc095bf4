/* Changes of a pipeline's file: when each takes effect. */
#include "core/base/memory.h"
#include "orchestrator/config/changes.h"
#include "orchestrator/config/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char FILE_TEXT[] =
    "pipeline: {name: lab, mode: live}\n"
    "dataset: {name: notes, source: {path: notes, format: jsonl}, time: {from: field, field: ts}, "
    "label: {field: label, classes: [work, spam]}}\n"
    "trigger: {policy: amount, samples: 10}\n"
    "selection: {policy: new_data}\n"
    "preprocess: {operators: [{op: json_text, field: text}], batch: {samples: 8}}\n"
    "training: {model: text_bag, loss: logistic, start_from: previous, optimizer: {name: sgd, lr: 0.1}}\n"
    "evaluation: [{name: next, on: new, strategy: slicing, every: 1d, metrics: [accuracy]}]\n";

static struct orchestrator_config *parse(const char *text)
{
    struct orchestrator_config *config = NULL;
    struct weir_error err;

    if (orchestrator_config_parse("lab.yaml", weir_bytes_of(text), &config, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return config;
}

static void add(void *owner, const struct config_change *change)
{
    weir_buf_printf(owner, "%s %s\n", change->difference->path,
                    orchestrator_config_effect_name(change->effect));
}

/* The file with each `was` replaced by `is`; pairs end with NULL. */
static void expect(const char *const *pairs, const char *expected)
{
    WEIR_AUTO_FREE char *text = weir_strdup(FILE_TEXT);
    WEIR_AUTO_BUF found = {0};

    for (; pairs[0] != NULL; pairs += 2) {
        const char *at = strstr(text, pairs[0]);

        assert_non_null(at);
        char *next =
            weir_format("%.*s%s%s", (int)(at - text), text, pairs[1], at + strlen(pairs[0]));
        free(text);
        text = next;
    }
    WEIR_AUTO(orchestrator_config) was = parse(FILE_TEXT);
    WEIR_AUTO(orchestrator_config) is = parse(text);
    orchestrator_config_changes(was, is, add, &found);
    assert_string_equal(weir_buf_text(&found), expected);
}
#define EXPECT(expected, ...) expect((const char *const[]){__VA_ARGS__, NULL}, expected)

static void numbers_of_a_training_are_of_the_next_one(void **state)
{
    (void)state;
    EXPECT("training.optimizer.lr next_trigger\n", "lr: 0.1", "lr: 0.2");
    EXPECT("preprocess.batch.samples next_trigger\n", "batch: {samples: 8}", "batch: {samples: 9}");
    EXPECT("trigger.samples next_trigger\n", "amount, samples: 10", "amount, samples: 11");
    EXPECT("selection.policy next_trigger\n", "policy: new_data", "policy: random");
}

static void what_judges_models_changes_at_once(void **state)
{
    (void)state;
    EXPECT("evaluation[next].metrics now\nbudget now\n", "[accuracy]}]\n",
           "[roc_auc]}]\nbudget: {cpu_seconds: 1}\n");
}

static void weights_that_were_learnt_otherwise_need_a_rerun_unless_they_are_left(void **state)
{
    (void)state;
    EXPECT("preprocess.operators rerun\n", "field: text", "field: body");
    EXPECT("training.optimizer.name rerun\n", "name: sgd", "name: adagrad");
    EXPECT("preprocess.operators next_trigger\ntraining.start_from next_trigger\n", "field: text",
           "field: body", "start_from: previous", "start_from: scratch");
}

static void samples_that_are_there_keep_their_declaration_but_for_how_they_are_looked_at(
    void **state)
{
    (void)state;
    EXPECT("datasets.label.field rerun\n", "field: label", "field: stars");
    EXPECT("datasets.source.settle now\n", "format: jsonl", "format: jsonl, settle: 1s");
    EXPECT("datasets.use next_trigger\n", "format: jsonl}",
           "format: jsonl}, use: [trigger, selection]");
    EXPECT("", "dataset: {name: notes, source", "datasets: {name: notes, source");
}

static void what_the_pipeline_is_stays(void **state)
{
    (void)state;
    EXPECT("pipeline.mode rerun\n", "mode: live", "mode: replay");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_a_training_are_of_the_next_one),
        cmocka_unit_test(what_judges_models_changes_at_once),
        cmocka_unit_test(weights_that_were_learnt_otherwise_need_a_rerun_unless_they_are_left),
        cmocka_unit_test(
            samples_that_are_there_keep_their_declaration_but_for_how_they_are_looked_at),
        cmocka_unit_test(what_the_pipeline_is_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
