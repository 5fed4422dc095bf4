/* The shipped pipeline files are read; mistakes name their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/config/facts.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/config/system.h"
#include "tests/support/temp_dir.h"

#include <string.h>

static void shipped_pipelines_are_good(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name;
    } SHIPPED[] = {{WEIR_SOURCE_DIR "/config/pipelines/quickstart.yaml", "quickstart"},
                   {WEIR_SOURCE_DIR "/config/pipelines/tabular.yaml", "tabular"},
                   {WEIR_SOURCE_DIR "/config/pipelines/coreset.yaml", "coreset"},
                   {WEIR_SOURCE_DIR "/config/pipelines/rho_loss.yaml", "rho-loss"},
                   {WEIR_SOURCE_DIR "/config/pipelines/mixture.yaml", "mixture"},
                   {WEIR_SOURCE_DIR "/config/pipelines/drift.yaml", "drift"},
                   {WEIR_SOURCE_DIR "/config/pipelines/late_labels.yaml", "late_labels"},
                   {WEIR_SOURCE_DIR "/config/pipelines/pushed.yaml", "pushed"},
                   {WEIR_SOURCE_DIR "/config/pipelines/images.yaml", "images"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/arxiv.yaml", "arxiv"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/huffpost.yaml", "huffpost"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/criteo.yaml", "criteo"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/movies.yaml", "movies"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/weather.yaml", "weather"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/air.yaml", "air"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/bank.yaml", "bank"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/clicks.yaml", "clicks"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/flights.yaml", "flights"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/mails.yaml", "mails"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/speeches.yaml", "speeches"},
                   {WEIR_SOURCE_DIR "/benchmarks/suite/winds.yaml", "winds"}};
    for (size_t i = 0; i < WEIR_COUNT(SHIPPED); i++) {
        WEIR_AUTO_BUF text = {0};
        WEIR_AUTO_BUF printed = {0};
        WEIR_AUTO(orchestrator_config) config = NULL;
        struct weir_error err = {0};
        assert_int_equal(weir_file_read(SHIPPED[i].path, WEIR_YAML_BYTES_MAX, &text, &err),
                         WEIR_OK);
        if (orchestrator_config_parse(SHIPPED[i].path, weir_buf_view(&text), &config, &err) !=
            WEIR_OK)
            fail_msg("%s", err.text);
        assert_string_equal(config->name, SHIPPED[i].name);
        assert_in_range(config->evaluation_count, 1, 3);
        assert_int_equal(orchestrator_config_print(config, &printed, &err), WEIR_OK);
        assert_non_null(strstr(weir_buf_text(&printed), SHIPPED[i].name));
    }
}

static void a_section_is_told_on_one_line_that_is_not_long(void **state)
{
    static const char FILE_TEXT[] =
        "pipeline: {name: p}\n"
        "datasets: [{name: d, source: {path: d, format: jsonl}, label: {field: l, classes: [a, b]}}]\n"
        "trigger: {policy: amount, samples: 500}\n"
        "selection: {policy: new_data}\n"
        "preprocess: {operators: [{op: json_text}]}\n"
        "training:\n  program: net\n  options: {token: secret}\n  loss: logistic\n  group: %s\n";
    WEIR_AUTO_BUF text = {0}, trigger = {0}, training = {0}, none = {0};
    WEIR_AUTO_BUF group = {0};
    WEIR_AUTO(weir_yaml) document = NULL;
    struct weir_error err = {0};
    (void)state;
    for (int i = 0; i < CONFIG_FACT_BYTES_MAX; i++)
        weir_buf_append_text(&group, "é");
    weir_buf_printf(&text, FILE_TEXT, weir_buf_text(&group));
    assert_int_equal(weir_yaml_parse("p.yaml", weir_buf_view(&text), &document, &err), WEIR_OK);
    const struct orchestrator_config config = {.document = document};
    orchestrator_config_put_fact(&config, "trigger", &trigger);
    orchestrator_config_put_fact(&config, "training", &training);
    orchestrator_config_put_fact(&config, "budget", &none);
    assert_string_equal(weir_buf_text(&trigger), "policy: amount, samples: 500");
    assert_string_equal(weir_buf_text(&none), "");
    const char *fact = weir_buf_text(&training);
    assert_non_null(strstr(fact, "program: net, loss: logistic, group: \"éé"));
    assert_null(strstr(fact, "secret"));
    assert_in_range(strlen(fact), CONFIG_FACT_BYTES_MAX, CONFIG_FACT_BYTES_MAX + 3);
    assert_string_equal(fact + strlen(fact) - strlen("é…"), "é…");
}

static void the_shipped_system_file_is_the_default(void **state)
{
    (void)state;
    struct orchestrator_system file = {0}, defaults = {0};
    struct weir_error err = {0};
    if (orchestrator_system_load(WEIR_SOURCE_DIR "/config/system/local.yaml", &file, &err) !=
        WEIR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(orchestrator_system_load(NULL, &defaults, &err), WEIR_OK);
    assert_int_equal(file.workers.min, defaults.workers.min);
    assert_int_equal(file.workers.max, defaults.workers.max);
    assert_int_equal(file.workers.host_max, defaults.workers.host_max);
    assert_int_equal(file.sharing.trainers, defaults.sharing.trainers);
    assert_true(orchestrator_quota_of(&file.sharing, "any").share ==
                orchestrator_quota_of(&defaults.sharing, "any").share);
    assert_string_equal(file.launching.workers, defaults.launching.workers);
    assert_string_equal(file.launching.trainers, defaults.launching.trainers);
    assert_string_equal(file.log_level, defaults.log_level);
    assert_string_equal(file.prices.currency, defaults.prices.currency);
    assert_true(file.prices.cpu_hour == defaults.prices.cpu_hour);
    const struct orchestrator_system *both[] = {&file, &defaults};
    for (size_t i = 0; i < WEIR_COUNT(both); i++) {
        struct weir_credentials found = {0};
        orchestrator_system_hand_on(both[i]);
        assert_int_equal(weir_credentials_find("environment", "https://x", &found, &err), WEIR_OK);
        assert_string_equal(found.key_id_env, "AWS_ACCESS_KEY_ID");
        assert_string_equal(found.secret_env, "AWS_SECRET_ACCESS_KEY");
        weir_credentials_fini(&found);
    }
    orchestrator_system_fini(&file);
    orchestrator_system_fini(&defaults);
}

/* Loads a system file of this text, which is called s.yaml. */
static enum weir_status load(struct temp_dir *dir, const char *text,
                             struct orchestrator_system *system, struct weir_error *err)
{
    const char *path = temp_path(dir, "s.yaml");
    assert_int_equal(weir_file_write_atomic(path, weir_bytes_of(text), err), WEIR_OK);
    return orchestrator_system_load(path, system, err);
}

static void batches_over_tcp_stay_on_the_host(void **state)
{
    static const struct {
        const char *yaml, *expected;
    } CASES[] = {
        {"batches: {listen: \"tcp://0.0.0.0:*\"}\n",
         "s.yaml:1:20: batches.listen: tcp://0.0.0.0:* leaves this host"},
        {"batches: {listen: \"tcp://127.0.0.1:7000\"}\n", "expected tcp://ADDRESS:*"},
        {"batches: {listen: \"ipc:///tmp/x\"}\n", "expected tcp://ADDRESS:*"},
        {"batches: {compress: gzip}\n", "s.yaml:1:21: batches.compress"},
        {"batches: {listen: \"tcp://127.0.0.1:*\", compress: zstd}\n", NULL},
    };
    struct temp_dir dir;
    (void)state;
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct orchestrator_system system;
        struct weir_error err = {0};
        enum weir_status status = load(&dir, CASES[i].yaml, &system, &err);
        assert_int_equal(status, CASES[i].expected == NULL ? WEIR_OK : WEIR_INVALID);
        if (CASES[i].expected != NULL && strstr(err.text, CASES[i].expected) == NULL)
            fail_msg("found: %s\nexpected: %s", err.text, CASES[i].expected);
        if (status != WEIR_OK)
            continue;
        assert_string_equal(system.listen, "tcp://127.0.0.1:*");
        assert_string_equal(system.compress, "zstd");
        orchestrator_system_fini(&system);
    }
    temp_dir_remove(&dir);
}

static void no_more_workers_are_there_than_the_money_pays_for(void **state)
{
    static const struct {
        const char *yaml;
        uint32_t max;
    } CASES[] = {
        {"workers: {max: 8}\n", 8},
        {"workers: {max: 8, money_hour: 1.2}\nprices: {worker_hour: 0.4}\n", 3},
        {"workers: {max: 2, money_hour: 1.2}\nprices: {worker_hour: 0.4}\n", 2},
    };
    struct temp_dir dir;
    (void)state;
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct orchestrator_system system;
        struct weir_error err = {0};
        assert_int_equal(load(&dir, CASES[i].yaml, &system, &err), WEIR_OK);
        assert_int_equal(system.workers.max, CASES[i].max);
        orchestrator_system_fini(&system);
    }
    temp_dir_remove(&dir);
}

static void all_that_is_wrong_with_a_system_file_is_told_of_at_once(void **state)
{
    static const char TEXT[] = "launcher: k8s\nprices: {cpu_hour: cheap}\nlog_level: loud\n"
                               "workers: {min: 4, max: 1}\nworkrs: 3\ncache: {bytes: much}\n"
                               "budgets: {all: {money: 5}}\n"; /* by prices that are unknown */
    static const char *const EXPECTED[] = {"s.yaml:1:11: launcher: unknown launcher 'k8s'",
                                           "s.yaml:2:20: prices.cpu_hour: expected a number",
                                           "s.yaml:3:12: log_level: expected debug, ",
                                           "s.yaml:4:16: workers.min: ",
                                           "s.yaml:5:1: workrs: unknown key",
                                           "s.yaml:6:16: cache.bytes: "};
    struct temp_dir dir;
    struct weir_error err;
    CFG_AUTO_COMPLAINTS wrong = {0};

    (void)state;
    temp_dir_make(&dir);
    const char *path = temp_path(&dir, "s.yaml");
    assert_int_equal(weir_file_write_atomic(path, weir_bytes_of(TEXT), &err), WEIR_OK);
    orchestrator_system_check(path, &wrong);
    assert_int_equal(wrong.status, WEIR_INVALID);
    const char *at = weir_buf_text(&wrong.lines);
    for (size_t i = 0; i < WEIR_COUNT(EXPECTED); i++) {
        const char *found = strstr(at, EXPECTED[i]);
        if (found == NULL)
            fail_msg("expected '%s' in its place, found: %s", EXPECTED[i],
                     weir_buf_text(&wrong.lines));
        at = found;
    }
    assert_null(strstr(weir_buf_text(&wrong.lines), "budgets"));
    temp_dir_remove(&dir);
}

static void a_budget_of_money_wants_prices(void **state)
{
    static const struct {
        const char *yaml;
        enum weir_status status;
    } CASES[] = {
        {"budgets: {all: {money: 5}}\n", WEIR_INVALID},
        {"budgets: {all: {money: 5}}\nprices: {worker_hour: 1}\n", WEIR_INVALID},
        {"budgets: {all: {money: 5}}\nprices: {cpu_hour: 1}\n", WEIR_OK},
        {"budgets: {all: {cpu_seconds: 5}}\n", WEIR_OK},
    };
    struct temp_dir dir;
    (void)state;
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct orchestrator_system system;
        struct weir_error err = {0};
        assert_int_equal(load(&dir, CASES[i].yaml, &system, &err), CASES[i].status);
        if (CASES[i].status == WEIR_OK)
            orchestrator_system_fini(&system);
        else
            assert_non_null(strstr(err.text, "s.yaml:1:24: budgets.money: expected prices"));
    }
    temp_dir_remove(&dir);
}

static void a_connection_to_postgres_that_cannot_be_understood_is_not_quoted(void **state)
{
    static const char *const WRONG[] = {"host=/tmp password=sesame two", "password='sesame",
                                        "postgresql://weir:sesame@[nowhere/weir"};
    struct temp_dir dir;
    (void)state;
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(WRONG); i++) {
        struct orchestrator_system system;
        struct weir_error err = {0};
        WEIR_AUTO_FREE char *text = weir_format("postgres: {connection: \"%s\"}\n", WRONG[i]);
        assert_int_equal(load(&dir, text, &system, &err), WEIR_INVALID);
        assert_non_null(strstr(err.text, "s.yaml:1:25: postgres.connection: "));
        assert_null(strstr(err.text, "sesame"));
        assert_null(strstr(err.text, "two"));
    }
    temp_dir_remove(&dir);
}

#define REST "datasets: [{name: a}]\nselection: {}\npreprocess: {}\ntraining: {}\n"

static void expect_refused(const char *yaml, const char *expected)
{
    WEIR_AUTO(orchestrator_config) config = NULL;
    struct weir_error err = {0};
    assert_int_equal(orchestrator_config_parse("t.yaml", weir_bytes_of(yaml), &config, &err),
                     WEIR_INVALID);
    if (strstr(err.text, expected) == NULL)
        fail_msg("expected %s in: %s", expected, err.text);
}

static void mistakes_name_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } CASES[] = {
        {"pipelin: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST,
         "did you mean 'pipeline'"},
        {"pipeline: {name: a b}\ntrigger: {policy: amount, samples: 1}\n" REST,
         "t.yaml:1:18: pipeline.name"},
        {"pipeline: {name: a, mode: replya}\ntrigger: {policy: amount, samples: 1}\n" REST,
         "t.yaml:1:27"},
        {"pipeline: {name: a}\ntrigger: {policy: amuont, samples: 1}\n" REST, "t.yaml:2:19"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "evaluation: {name: e, every: 1d, metrics: [accurcy]}\n",
         "did you mean accuracy"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "evaluation: {name: e, every: 1d, metrics: [{name: top_n, m: 5}]}\n",
         "expected one of: name, by"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "evaluation: {name: e, every: 1d, metrics: [{name: f1, average: macro}, f1, {name: f1, average: macro}]}\n",
         "'f1(average=macro)' is given twice"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "evaluation: {name: e, every: soon, metrics: accuracy}\n",
         "1 month"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "evaluation: {name: e, every: 1d, metrics: [mse, {name: accuracy, by: lable}]}\n",
         "evaluation.metrics.by: unknown tensor of training.slices 'lable' (did you mean label?)"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "deletion: {policy: retrain}\n",
         "deletion.policy"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "models: {keep: {last: 1, best: 2}}\n",
         "{best: 5, by: roc_auc}"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "models: {keep: {best: 2, by: acuracy}}\n",
         "did you mean accuracy"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\n" REST
         "evaluation: {name: e, every: 1d, metrics: accuracy}\n"
         "promote: {when: {metric: roc_auc}}\n",
         "t.yaml:8:10: promote.when: expected an evaluation that measures roc_auc"},
        {"pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\nselection: {}\npreprocess: {}\ntraining: {}\n",
         "1 to 64 datasets"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        expect_refused(CASES[i].yaml, CASES[i].expected);
}

#define USES(first, second)                                                       \
    "pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\nselection: {}\n" \
    "preprocess: {}\ntraining: {}\ndatasets:\n  - {name: a, use: " first "}\n"    \
    "  - {name: b, use: " second "}\n"

static void a_use_that_cannot_be_is_refused_by_line(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } CASES[] = {
        {USES("[trigger, selection]", "evalution"),
         "t.yaml:8:20: datasets[1].use: unknown use 'evalution' (did you mean evaluation?)"},
        {USES("[trigger, slection]", "evaluation"), "did you mean selection?"},
        {USES("[]", "evaluation"), "t.yaml:7:20: datasets[0].use: found an empty list"},
        {USES("selection", "evaluation"), "no `use` has trigger in it"},
        {USES("trigger", "evaluation"), "no `use` has selection in it"},
        {USES("[trigger, selection]",
              "evaluation") "evaluation: {name: e, on: a, every: 1d, metrics: accuracy}\n",
         "t.yaml:9:27: evaluation.on: dataset 'a' has a `use` without evaluation"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        expect_refused(CASES[i].yaml, CASES[i].expected);
}

/* An evaluation that names no dataset measures on the stream, not on what is there for evaluations alone. */
static void datasets_are_used_as_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *use;
        bool named, unnamed;
    } ROWS[] = {
        {"evaluation", true, false},
        {"[evaluation, selection]", true, true},
        {"[trigger, selection]", true, false},
        {"[evaluation, trigger, selection]", true, true},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        WEIR_AUTO(orchestrator_config) config = NULL;
        struct weir_error err = {0};
        WEIR_AUTO_FREE char *text = weir_format(
            "pipeline: {name: a}\ntrigger: {policy: amount, samples: 1}\nselection: {}\n"
            "preprocess: {}\ntraining: {}\ndatasets: [{name: a}, {name: b, use: %s}]\n",
            ROWS[i].use);
        assert_int_equal(orchestrator_config_parse("t.yaml", weir_bytes_of(text), &config, &err),
                         WEIR_OK);
        assert_true(orchestrator_config_measures(config, 0, NULL));
        assert_false(orchestrator_config_measures(config, 0, "b"));
        assert_true(orchestrator_config_measures(config, 1, "b") == ROWS[i].named);
        assert_true(orchestrator_config_measures(config, 1, NULL) == ROWS[i].unnamed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_pipelines_are_good),
        cmocka_unit_test(a_section_is_told_on_one_line_that_is_not_long),
        cmocka_unit_test(the_shipped_system_file_is_the_default),
        cmocka_unit_test(batches_over_tcp_stay_on_the_host),
        cmocka_unit_test(no_more_workers_are_there_than_the_money_pays_for),
        cmocka_unit_test(all_that_is_wrong_with_a_system_file_is_told_of_at_once),
        cmocka_unit_test(a_budget_of_money_wants_prices),
        cmocka_unit_test(a_connection_to_postgres_that_cannot_be_understood_is_not_quoted),
        cmocka_unit_test(mistakes_name_their_place),
        cmocka_unit_test(a_use_that_cannot_be_is_refused_by_line),
        cmocka_unit_test(datasets_are_used_as_they_say),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
