/* A choice by scores, as the selector makes it: what it wants scored, what it takes, what it chooses then, and what it
 * forgets. */
#include "core/base/file.h"
#include "core/base/rng.h"
#include "tests/component/selector_lab.h"

#include <dirent.h>
#include <libpq-fe.h>
#include <unistd.h>

#define UNCERTAIN "{policy: coreset, tail_triggers: all, limit: 3, score: {method: uncertainty}}"

static enum weir_status purge(struct fixture *fixture)
{
    const struct msg_scores_purge purge = {.pipeline = "quick"};
    return lab_request(fixture, MSG_scores_purge, &purge);
}

/* Counts the scores kept of `count` rows from `first` on. */
static uint64_t kept(struct fixture *fixture, uint32_t first, size_t count)
{
    uint64_t ids[100];
    for (size_t i = 0; i < count; i++)
        ids[i] = weir_sample_id(DATASET, 0, first) + i;
    const struct msg_scores_purge counting = {
        .pipeline = "quick", .count = true, .ids = {ids, count}};
    assert_int_equal(lab_request(fixture, MSG_scores_purge, &counting), WEIR_OK);
    return fixture->samples;
}

static void without_a_model_the_choice_is_random(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, ""), WEIR_OK);
    assert_string_equal(fixture->mode, "");
    assert_string_equal(fixture->model, "");
    assert_int_equal(fixture->samples, 3);
}

static void a_model_scores_first_and_its_scores_decide(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_string_equal(fixture->mode, "predict");
    assert_string_equal(fixture->model, "m-1");
    assert_string_equal(lab_rows(fixture), "0-99");
    assert_int_equal(lab_bring(fixture, 52), WEIR_OK);
    assert_int_equal(fixture->samples, 99);
    assert_int_equal(fixture->candidates, 1);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_string_equal(fixture->mode, "");
    assert_string_equal(fixture->model, "m-1");
    assert_string_equal(lab_rows(fixture), "51 53-54"); /* row 52 could not be scored */
}

static void what_is_scored_is_not_asked_again(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    lab_change(fixture, WEIR_CHANGE_ADDED, 10, 10);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_int_equal(lab_bring(fixture, 3), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "7-9");
    assert_int_equal(lab_select_by(fixture, 2, 2, "m-1"), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "10-19");
    assert_int_equal(fixture->candidates, 20);
    assert_int_equal(lab_select_by(fixture, 2, 2, "m-2"), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "0-19"); /* of another model nothing is known */
}

/* Dying between any two messages changes neither what is wanted nor what is chosen. */
static void a_restart_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    char wanted[WEIR_DIGEST_TEXT_MAX];
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    (void)snprintf(wanted, sizeof(wanted), "%s", fixture->digest);
    lab_stop(fixture);
    lab_start(fixture);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_string_equal(fixture->digest, wanted);
    assert_int_equal(lab_bring(fixture, 101), WEIR_OK);
    lab_stop(fixture);
    lab_start(fixture);
    const struct msg_scores_take again = {.pipeline = "quick",
                                          .mode = "predict",
                                          .model = "m-1",
                                          .digest = wanted,
                                          .outputs = "/nowhere"};
    assert_int_equal(lab_request(fixture, MSG_scores_take, &again), WEIR_OK);
    assert_int_equal(fixture->samples, 100);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "51-53");
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-9"),
                     WEIR_OK); /* sealed: whatever is asked now */
    assert_string_equal(lab_rows(fixture), "51-53");
    assert_string_equal(fixture->model, "m-1");
}

static void outputs_of_another_set_are_refused(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    lab_change(fixture, WEIR_CHANGE_ADDED, 10, 10);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 2, "m-1"), WEIR_OK);
    const char *outputs = lab_write_outputs(fixture, 99);
    assert_int_equal(lab_seal_interval(fixture, 0, 1010, 2), WEIR_OK);
    WEIR_AUTO_FREE char *digest = weir_strdup(fixture->digest);
    const struct msg_scores_take take = {.pipeline = "quick",
                                         .mode = "predict",
                                         .model = "m-1",
                                         .digest = digest,
                                         .outputs = outputs};
    assert_int_equal(lab_request(fixture, MSG_scores_take, &take), WEIR_INVALID);
    assert_non_null(strstr(fixture->text, "is not in the set"));
}

/* The presampling stays, the model and the draw are new; each answer is given again, whatever is asked with it. */
static void a_later_round_is_chosen_anew_by_its_own_model(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t position = 1;
    char first[WEIR_DIGEST_TEXT_MAX], presampled[WEIR_DIGEST_TEXT_MAX];
    struct msg_select round = {.pipeline = "quick",
                               .trigger = 1,
                               .positions = {&position, 1},
                               .model = "m-1",
                               .pinned = true,
                               .round = 1};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(
        lab_open_pipeline(fixture,
                          "{policy: coreset, presample: {policy: random, limit: 50}, limit: 10,"
                          " score: {method: loss, period: 2}}",
                          false),
        WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-0"), WEIR_OK);
    (void)snprintf(presampled, sizeof(presampled), "%s", fixture->digest);
    assert_int_equal(lab_bring(fixture, 100), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-0"), WEIR_OK);
    assert_int_equal(fixture->samples, 10);
    assert_int_equal(fixture->period, 2);
    (void)snprintf(first, sizeof(first), "%s", fixture->digest);

    assert_int_equal(lab_request(fixture, MSG_select, &round), WEIR_OK);
    assert_string_equal(fixture->model, "m-1");
    assert_string_equal(fixture->digest, presampled);
    assert_int_equal(lab_bring(fixture, 100), WEIR_OK); /* it says the same as m-0 */
    assert_int_equal(lab_request(fixture, MSG_select, &round), WEIR_OK);
    assert_string_not_equal(fixture->digest, first);
    assert_int_equal(fixture->period, 2);
    lab_restart(fixture);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-9"), WEIR_OK);
    assert_string_equal(fixture->digest, first);
    assert_string_equal(fixture->model, "m-0");
}

/* A class that is too small gives all it has, and the others fill up; what is left is divided by their sizes. */
static void presampling_is_exact_and_its_labels_are_balanced(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100); /* a third of them spam */
    assert_int_equal(
        lab_open_pipeline(
            fixture,
            "{policy: coreset, presample: {policy: label_balanced, limit: 90}, ratio: 0.1,"
            " score: {method: loss, balance: true}}",
            false),
        WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_string_equal(fixture->mode, "score");
    assert_int_equal(fixture->samples, 90); /* 34 and 56: not 2 * 34 */
    assert_int_equal(fixture->candidates, 90);
    assert_int_equal(lab_bring(fixture, 100), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_int_equal(fixture->samples, 9);
}

static void an_erased_sample_loses_its_scores(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_int_equal(lab_bring(fixture, 60), WEIR_OK);
    assert_int_equal(purge(fixture), WEIR_OK);
    assert_int_equal(fixture->samples, 0);
    lab_change(fixture, WEIR_CHANGE_ERASED, 50, 20);
    assert_int_equal(kept(fixture, 50, 20), 20); /* that row 60 has no score is known of it, too */
    assert_int_equal(kept(fixture, 40, 15), 15);
    assert_int_equal(purge(fixture), WEIR_OK);
    assert_int_equal(fixture->samples, 20);
    assert_int_equal(kept(fixture, 50, 20), 0);
    assert_int_equal(kept(fixture, 40, 15), 10);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "47-49"); /* the others have kept theirs */
}

static void a_preview_says_what_has_to_be_scored(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t position = 1;
    const struct msg_preview preview = {
        .pipeline = "quick", .positions = {&position, 1}, .model = "m-1"};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_request(fixture, MSG_preview, &preview), WEIR_OK);
    assert_int_equal(fixture->unscored, 100);
    assert_string_equal(fixture->model, "m-1");
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_int_equal(fixture->samples, 100); /* nothing of the preview stayed */
}

static enum weir_status open_other(struct fixture *fixture)
{
    static const uint64_t DATASETS[] = {DATASET};
    const struct msg_selection_open open = {
        .pipeline = "other",
        .file = "other.yaml",
        .config = weir_bytes_of("datasets: [{name: mails, label: {from: manifest}}]\n"
                                "selection: {policy: coreset, tail_triggers: all, limit: 3,"
                                " score: {method: uncertainty}, scores: {from: quick}}\n"),
        .datasets = {DATASETS, 1},
    };
    return lab_request(fixture, MSG_selection_open, &open);
}

static void another_pipelines_scores_are_used_again(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    lab_change(fixture, WEIR_CHANGE_ADDED, 100, 10);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_int_equal(lab_bring(fixture, 200), WEIR_OK);
    const uint64_t first = 1, second = 2;
    struct msg_select select = {
        .pipeline = "other", .trigger = 1, .positions = {&first, 1}, .model = ""};
    assert_int_equal(open_other(fixture), WEIR_OK);
    assert_int_equal(lab_request(fixture, MSG_select, &select), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "51-53");
    assert_string_equal(fixture->model, "m-1");
    select = (struct msg_select){
        .pipeline = "other", .trigger = 2, .positions = {&second, 1}, .model = "o-1"};
    assert_int_equal(lab_request(fixture, MSG_select, &select), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "100-109"); /* the rest, by the same model */
    assert_string_equal(fixture->model, "m-1");
    select.pinned = true; /* it has begun with its own */
    assert_int_equal(lab_request(fixture, MSG_select, &select), WEIR_OK);
    assert_int_equal(fixture->samples, 110);
    assert_string_equal(fixture->model, "o-1");
}

/* Makes all scores two months older. */
static void age(const struct fixture *fixture)
{
    const char *statement = "UPDATE selector.score_file SET taken_us = taken_us - 5184000000000";
    PGconn *connection = PQconnectdb(fixture->postgres.conninfo);
    PGresult *result = PQexec(connection, statement);
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
    PQfinish(connection);
}

static size_t score_files(const struct fixture *fixture)
{
    size_t count = 0;
    WEIR_AUTO_FREE char *path = weir_format("%s/scores", fixture->dir.path);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* The scores of each are one file. */
static void score_by_three_models(struct fixture *fixture)
{
    static const char *const MODELS[] = {"m-1", "m-2", "m-3"};
    for (size_t i = 0; i < WEIR_COUNT(MODELS); i++) {
        assert_int_equal(lab_select_by(fixture, 1, 1, MODELS[i]), WEIR_OK);
        assert_string_equal(fixture->model, MODELS[i]);
        assert_int_equal(lab_bring(fixture, 100), WEIR_OK);
    }
}

static void old_scores_go_unless_somebody_may_ask_for_them(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    score_by_three_models(fixture);
    lab_restart(fixture); /* it sweeps when it begins */
    assert_int_equal(score_files(fixture), 3);
    assert_int_equal(kept(fixture, 0, 10), 30);
    age(fixture);
    lab_restart(fixture);
    assert_int_equal(score_files(fixture), 2);
    assert_int_equal(kept(fixture, 0, 10), 20);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-2"), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "51-53");
}

/* An earlier version kept them as the trainer wrote them; no row names those any more. */
static void what_an_earlier_version_kept_goes(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    score_by_three_models(fixture);
    const char *old = temp_path(&fixture->dir, "scores/0123456789abcdef0123456789abcdef.outputs");
    assert_int_equal(weir_file_write_atomic(old, weir_bytes_of("WEIROUT1"), &err), WEIR_OK);
    assert_int_equal(score_files(fixture), 4);
    lab_restart(fixture);
    assert_int_equal(score_files(fixture), 3);
}

static void scores_that_another_pipeline_takes_stay(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(open_other(fixture), WEIR_OK);
    score_by_three_models(fixture);
    age(fixture);
    lab_restart(fixture);
    assert_int_equal(score_files(fixture), 3);
}

/* Its file is there, its row is not: taking again makes both whole. */
static void killed_between_file_and_row_scores_are_taken_once(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_int_equal(lab_bring_through(fixture, 100, "selector.scores"), WEIR_OK);
    assert_int_equal(fixture->samples, 100);
    assert_int_equal(score_files(fixture), 1);
    assert_int_equal(kept(fixture, 0, 100), 100);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "51-53");
}

/* Rows are gone, their files are not: the next sweep removes them. */
static void killed_in_a_sweep_no_row_names_a_lost_file(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    score_by_three_models(fixture);
    age(fixture);
    lab_stop(fixture);
    lab_wait_for_death(fixture, lab_spawn(fixture, WEIR_BIN_DIR, "selector.sweep=!1"));
    assert_int_equal(score_files(fixture), 3);
    lab_start(fixture);
    assert_int_equal(score_files(fixture), 2);
    assert_int_equal(kept(fixture, 0, 100), 200);
}

/* ---- what is held out ---- */

#define RHO_LOSS "{policy: coreset, tail_triggers: all, limit: 3, score: {method: rho_loss, %s}}"

static enum weir_status select_with(struct fixture *fixture, const char *const *holdouts,
                                    size_t count)
{
    static const uint64_t POSITION = 1;
    const struct msg_select select = {.pipeline = "quick",
                                      .trigger = 1,
                                      .positions = {&POSITION, 1},
                                      .model = "m-1",
                                      .holdouts = {holdouts, count}};
    return lab_request(fixture, MSG_select, &select);
}

static void open_rho_loss(struct fixture *fixture, const char *options)
{
    WEIR_AUTO_FREE char *selection = weir_format(RHO_LOSS, options);
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, selection, false), WEIR_OK);
}

/* Marks those of the 100 rows that the newest set holds. */
static void mark(struct fixture *fixture, bool *rows_held)
{
    struct weir_sample_set set = {0};
    struct weir_error err;
    memset(rows_held, 0, 100 * sizeof(*rows_held));
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    for (size_t i = 0; i < set.count; i++)
        rows_held[weir_sample_row(set.ids[i])] = true;
    weir_sample_set_close(&set);
}

static void assert_marked(struct fixture *fixture, const bool *rows_held, bool which)
{
    bool found[100];
    mark(fixture, found);
    for (size_t row = 0; row < 100; row++)
        assert_int_equal(found[row], rows_held[row] == which);
}

/* The rows with the highest numbers have the most that can be learnt, see lab_write_outputs(). */
static void assert_highest(struct fixture *fixture, const bool *held)
{
    bool found[100];
    mark(fixture, found);
    for (size_t row = 100, left = 3; row-- > 0;) {
        bool wanted = left > 0 && !held[row];
        left -= wanted;
        assert_int_equal(found[row], wanted);
    }
}

static void a_model_learns_from_what_is_held_out_and_has_a_say(void **state)
{
    struct fixture *fixture = *state;
    bool held[100];
    open_rho_loss(fixture, "share: 0.3");
    assert_int_equal(select_with(fixture, NULL, 0), WEIR_OK);
    assert_string_equal(fixture->mode, "holdout");
    assert_in_range(fixture->samples, 15, 45);
    mark(fixture, held);
    assert_int_equal(select_with(fixture, (const char *const[]){"h-1"}, 1), WEIR_OK);
    assert_string_equal(fixture->model, "m-1");
    assert_marked(fixture, held, false);
    assert_int_equal(lab_bring(fixture, 100), WEIR_OK);
    lab_restart(fixture);
    assert_int_equal(select_with(fixture, (const char *const[]){"h-1"}, 1), WEIR_OK);
    assert_string_equal(fixture->mode, "score");
    assert_string_equal(fixture->model, "h-1");
    assert_marked(fixture, held, false);
    assert_int_equal(lab_bring(fixture, 100), WEIR_OK);
    assert_int_equal(select_with(fixture, (const char *const[]){"h-1"}, 1), WEIR_OK);
    assert_string_equal(fixture->mode, "");
    assert_string_equal(fixture->model, "m-1");
    assert_highest(fixture, held);
}

static void of_two_models_each_speaks_of_what_the_other_learnt_from(void **state)
{
    static const char *const MODELS[] = {"h-1", "h-2"};
    struct fixture *fixture = *state;
    const bool none[100] = {false};
    bool half[100];
    open_rho_loss(fixture, "holdout: twin");
    for (size_t known = 0; known < 2; known++) {
        assert_int_equal(select_with(fixture, MODELS, known), WEIR_OK);
        assert_string_equal(fixture->mode, "holdout");
        assert_int_equal(fixture->candidates, known);
        if (known == 0)
            mark(fixture, half);
        else
            assert_marked(fixture, half, false);
    }
    assert_int_equal(select_with(fixture, MODELS, 2), WEIR_OK);
    assert_string_equal(fixture->model, "m-1");
    assert_int_equal(fixture->samples, 100);
    assert_int_equal(lab_bring(fixture, 100), WEIR_OK);
    for (size_t model = 0; model < 2; model++) {
        assert_int_equal(select_with(fixture, MODELS, 2), WEIR_OK);
        assert_string_equal(fixture->model, MODELS[model]);
        assert_marked(fixture, half, model == 1);
        assert_int_equal(lab_bring(fixture, 100), WEIR_OK);
    }
    assert_int_equal(select_with(fixture, MODELS, 2), WEIR_OK);
    assert_highest(fixture, none);
}

/* Nothing of the holdout could be delivered, or there is no model yet: then the choice is random, and what is held out
 * stays so. */
static void what_is_held_out_is_never_chosen(void **state)
{
    static const char *const MODELS[] = {"", "m-1"};
    struct fixture *fixture = *state;
    bool held[100], found[100];
    open_rho_loss(fixture, "share: 0.9");
    assert_int_equal(select_with(fixture, NULL, 0), WEIR_OK);
    mark(fixture, held);
    for (uint64_t trigger = 1; trigger <= 2; trigger++) {
        static const uint64_t POSITION = 1;
        const struct msg_select select = {.pipeline = "quick",
                                          .trigger = trigger,
                                          .positions = {&POSITION, 1},
                                          .model = MODELS[trigger - 1],
                                          .holdouts = {(const char *const[]){""}, trigger - 1}};
        assert_int_equal(lab_request(fixture, MSG_select, &select), WEIR_OK);
        assert_string_equal(fixture->mode, "");
        assert_string_equal(fixture->model, "");
        assert_int_equal(fixture->samples, 3);
        mark(fixture, found);
        for (size_t row = 0; row < 100; row++)
            assert_false(found[row] && held[row]);
    }
}

/* ---- weir doctor ---- */

/* All that an examination says, until it is done. */
struct examined {
    bool is_answered, done;
    uint64_t sets, scores;
    size_t wrong;
    char check[16], found[512];
};

static void on_examined(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct examined *examined = owner;
    if (reply == NULL)
        fail_msg("%s", err->text);
    const struct msg_owned_examined *answer = reply->message;
    examined->is_answered = true;
    examined->done = answer->done;
    examined->sets = answer->sets;
    examined->scores = answer->scores;
    examined->wrong = answer->checks.count;
    if (examined->wrong == 0)
        return;
    (void)snprintf(examined->check, sizeof(examined->check), "%s", answer->checks.at[0]);
    (void)snprintf(examined->found, sizeof(examined->found), "%s", answer->found.at[0]);
    assert_true(answer->expected.at[0][0] != '\0' && answer->advice.at[0][0] != '\0');
}

static struct examined examine(struct fixture *fixture)
{
    struct examined examined = {.done = false};
    const struct msg_owned_examine ask = {.session = weir_random_u64()};
    while (!examined.done) {
        examined.is_answered = false;
        weir_rpc_call(fixture->peer, MSG_owned_examine, &ask, TEST_PATIENCE_MS, on_examined,
                      &examined);
        test_loop_until(fixture->loop, &examined.is_answered);
    }
    return examined;
}

/* The only file of the folder that ends so; the caller frees it. */
static char *file_of(const struct fixture *fixture, const char *folder, const char *ending)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", fixture->dir.path, folder);
    char *found = NULL;
    DIR *open = opendir(path);
    assert_non_null(open);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        size_t size = strlen(entry->d_name);
        if (found != NULL || size < strlen(ending) ||
            strcmp(entry->d_name + size - strlen(ending), ending) != 0)
            continue;
        found = weir_format("%s/%s", path, entry->d_name);
    }
    closedir(open);
    assert_non_null(found);
    return found;
}

static void assert_noticed(struct fixture *fixture, const char *check, const char *path)
{
    struct examined examined = examine(fixture);
    assert_int_equal(examined.wrong, 1);
    assert_string_equal(examined.check, check);
    if (strstr(examined.found, path) == NULL)
        fail_msg("'%s' does not name %s", examined.found, path);
}

/* Every byte of the file in turn is given another bit; then it is cut, and then taken away. */
static void assert_damage_is_noticed(struct fixture *fixture, const char *check, const char *path)
{
    WEIR_AUTO_BUF whole = {0};
    struct weir_error err;
    assert_int_equal(weir_file_read(path, 1 << 20, &whole, &err), WEIR_OK);
    for (size_t at = 0; at < whole.size; at += 1 + at / 8) {
        whole.at[at] ^= 1;
        assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&whole), &err), WEIR_OK);
        assert_noticed(fixture, check, path);
        whole.at[at] ^= 1;
    }
    assert_int_equal(weir_file_write_atomic(path, weir_bytes(whole.at, whole.size - 1), &err),
                     WEIR_OK);
    assert_noticed(fixture, check, path);
    assert_int_equal(unlink(path), 0);
    assert_noticed(fixture, check, path);
    assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&whole), &err), WEIR_OK);
}

static void sets_and_scores_that_are_damaged_or_gone_are_noticed(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_int_equal(lab_bring(fixture, 52), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    struct examined healthy = examine(fixture);
    assert_int_equal(healthy.wrong, 0);
    assert_int_equal(healthy.sets, 2); /* what was chosen, and what was scored for it */
    assert_int_equal(healthy.scores, 1);

    WEIR_AUTO_FREE char *scores = file_of(fixture, "scores", ".scores");
    WEIR_AUTO_FREE char *unscored = file_of(fixture, "scores", ".unscored");
    assert_damage_is_noticed(fixture, "sets", fixture->path);
    assert_damage_is_noticed(fixture, "scores", scores);
    assert_damage_is_noticed(fixture, "scores", unscored);
    assert_int_equal(examine(fixture).wrong, 0);
}

/* Its file holds less than its row says until it is asked again. */
static void a_purge_that_died_is_no_damage(void **state)
{
    struct fixture *fixture = *state;
    const struct msg_scores_purge again = {.pipeline = "quick"};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 100);
    assert_int_equal(lab_open_pipeline(fixture, UNCERTAIN, false), WEIR_OK);
    assert_int_equal(lab_select_by(fixture, 1, 1, "m-1"), WEIR_OK);
    assert_int_equal(lab_bring(fixture, 52), WEIR_OK);
    lab_change(fixture, WEIR_CHANGE_ERASED, 52, 3);
    struct selector *selector = fixture->selector;
    struct weir_error err;
    assert_int_equal(purge(fixture), WEIR_OK);
    assert_int_equal(
        weir_db_exec(selector->queue.db,
                     "UPDATE score_file SET samples = samples + 2, unscored = unscored + 1", &err),
        WEIR_OK); /* as the row stood before */
    assert_int_equal(lab_request(fixture, MSG_scores_purge, &again), WEIR_OK);
    assert_int_equal(examine(fixture).wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_model_the_choice_is_random, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_model_scores_first_and_its_scores_decide, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(what_is_scored_is_not_asked_again, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(a_restart_changes_nothing, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(outputs_of_another_set_are_refused, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_later_round_is_chosen_anew_by_its_own_model, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(presampling_is_exact_and_its_labels_are_balanced, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_model_learns_from_what_is_held_out_and_has_a_say,
                                        lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(of_two_models_each_speaks_of_what_the_other_learnt_from,
                                        lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(what_is_held_out_is_never_chosen, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(an_erased_sample_loses_its_scores, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(a_preview_says_what_has_to_be_scored, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(another_pipelines_scores_are_used_again, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(old_scores_go_unless_somebody_may_ask_for_them, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(what_an_earlier_version_kept_goes, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(scores_that_another_pipeline_takes_stay, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(killed_between_file_and_row_scores_are_taken_once,
                                        lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(killed_in_a_sweep_no_row_names_a_lost_file, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(sets_and_scores_that_are_damaged_or_gone_are_noticed,
                                        lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(a_purge_that_died_is_no_damage, lab_setup, lab_teardown),
    };
    return cmocka_run_group_tests_name("selector scores", tests, lab_setup_group,
                                       lab_teardown_group);
}
