/* bench_suite: real streams, real pipelines: what the models of a pipeline that is trained again
 * are worth, against plain programs that were measured once, and against what is trained once (C15). The pipelines lie
 * beside this file. */
#include "benchmarks/harness.h"
#include "benchmarks/suite/stream.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <stdlib.h>

// clang-format off
#define PLANS(X)                                                                                                      \
    X(ARXIV_ONCE, "arxiv.yaml", "arxiv", "yearly", NULL,                                                              \
      "{policy: time, every: 1 year, from: 2011-01-01, to: 2011-01-02}")                                              \
    X(ARXIV_YEARLY, "arxiv.yaml", "arxiv", "yearly", NULL, NULL)                                                      \
    X(ARXIV_LABELS, "arxiv.yaml", "arxiv", "yearly", NULL,                                                            \
      "{policy: drift, on: labels, every: 3 months, reference: 2000, current: 2000, "                                 \
      "statistics: [{name: psi, criterion: {policy: threshold, value: 0.1}}]}")                                       \
    X(ARXIV_MISTAKES, "arxiv.yaml", "arxiv", "yearly", NULL,                                                          \
      "{policy: performance, every: 3 months, sample_size: 2000, avoidable: 600, expected_accuracy: 0.76}")           \
    X(HUFFPOST_ONCE, "huffpost.yaml", "huffpost-10k", "yearly", NULL,                                                 \
      "{policy: time, every: 1 year, from: 2020-01-01, to: 2020-01-02}")                                              \
    X(HUFFPOST_YEARLY, "huffpost.yaml", "huffpost-10k", "yearly", NULL, NULL)                                         \
    X(CRITEO, "criteo.yaml", "criteo-80k", "next_day", NULL, NULL)                                                    \
    X(BANK_ONCE, "bank.yaml", "bank", "late", "2009-06-01",                                                           \
      "{policy: time, every: 1 month, from: 2008-08-01, to: 2008-08-02}")                                             \
    X(BANK_MONTHLY, "bank.yaml", "bank", "late", "2009-06-01", NULL)                                                  \
    X(WINDS, "winds.yaml", "winds", "yearly", NULL, NULL)                                                             \
    X(MOVIES, "movies.yaml", "movielens-latest-small", "rest", NULL, NULL)                                            \
    X(WEATHER, "weather.yaml", "noaa-weather", "yearly", NULL, NULL)                                                  \
    X(WEATHER_FEATURES, "weather.yaml", "noaa-weather", "yearly", NULL,                                               \
      "{policy: drift, on: features, every: 1 year, reference: 365d, current: 365d, "                                 \
      "statistics: [{name: psi, criterion: {policy: threshold, value: 0.25}}]}")
// clang-format on

enum plan {
#define X(name, file, folder, evaluation, later, trigger) name,
    PLANS(X)
#undef X
        PLAN_COUNT
};

static const struct stream_plan PLAN[] = {
#define X(name, file, folder, evaluation, later, trigger) \
    {file, folder, trigger, evaluation, later},
    PLANS(X)
#undef X
};

struct suite {
    const char *directory;  /* borrowed */
    char *logs[PLAN_COUNT]; /* of what was run; owned */
};

static enum weir_status run_once(struct suite *suite, enum plan plan, struct weir_error *err)
{
    return suite->logs[plan] != NULL
               ? WEIR_OK
               : stream_run(&PLAN[plan], suite->directory, &suite->logs[plan], err);
}

static enum weir_status curve_of(struct suite *suite, enum plan plan, const char *metric,
                                 struct stream_curve *ret_curve, struct weir_error *err)
{
    enum weir_status status = run_once(suite, plan, err);
    return status == WEIR_OK ? stream_curve(suite->logs[plan], &PLAN[plan], metric, ret_curve, err)
                             : status;
}

/* ---- sides: what is said of a curve, and what a plain program reached ---- */

#define SIDE(name, plan, metric, expression)                                            \
    static enum weir_status name(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                                   \
        struct stream_curve curve;                                                      \
        enum weir_status status = curve_of(state, plan, metric, &curve, err);           \
        if (status == WEIR_OK)                                                          \
            *ret_rate = (expression);                                                   \
        return status;                                                                  \
    }
#define NUMBER(name, number)                                                            \
    static enum weir_status name(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                                   \
        (void)state;                                                                    \
        (void)err;                                                                      \
        *ret_rate = (number);                                                           \
        return WEIR_OK;                                                                 \
    }
/* Skips figures whose stream is not there. */
#define PREPARE(name, plan)                                           \
    static enum weir_status name(void *state, struct weir_error *err) \
    {                                                                 \
        return run_once(state, plan, err);                            \
    }

PREPARE(run_arxiv, ARXIV_YEARLY)
PREPARE(run_huffpost, HUFFPOST_YEARLY)
PREPARE(run_criteo, CRITEO)
PREPARE(run_bank, BANK_MONTHLY)
PREPARE(run_winds, WINDS)
PREPARE(run_movies, MOVIES)
PREPARE(run_weather, WEATHER)

SIDE(arxiv_once_mean, ARXIV_ONCE, "accuracy", curve.mean)
SIDE(arxiv_once_last, ARXIV_ONCE, "accuracy", curve.last)
SIDE(arxiv_yearly_mean, ARXIV_YEARLY, "accuracy", curve.mean)
SIDE(arxiv_yearly_last, ARXIV_YEARLY, "accuracy", curve.last)
SIDE(arxiv_yearly_rest, ARXIV_YEARLY, "accuracy", 1 / (double)curve.trainings)
SIDE(arxiv_labels_rest, ARXIV_LABELS, "accuracy", 1 / (double)curve.trainings)
SIDE(arxiv_mistakes_rest, ARXIV_MISTAKES, "accuracy", 1 / (double)curve.trainings)
SIDE(huffpost_mean, HUFFPOST_YEARLY, "accuracy", curve.mean)
SIDE(huffpost_last, HUFFPOST_YEARLY, "accuracy", curve.last)
SIDE(huffpost_once_last, HUFFPOST_ONCE, "accuracy", curve.last)
SIDE(criteo_auc, CRITEO, "roc_auc", curve.last)
SIDE(criteo_log_loss, CRITEO, "log_loss", 1 / curve.last)
SIDE(bank_once, BANK_ONCE, "log_loss", 1 / curve.later)
SIDE(bank_monthly, BANK_MONTHLY, "log_loss", 1 / curve.later)
SIDE(winds_last, WINDS, "rmse", 1 / curve.last)
SIDE(movies_auc, MOVIES, "roc_auc", curve.last)
SIDE(weather_mean, WEATHER, "accuracy", curve.mean)
SIDE(weather_rest, WEATHER, "accuracy", 1 / (double)curve.trainings)
SIDE(weather_features_mean, WEATHER_FEATURES, "accuracy", curve.mean)
SIDE(weather_features_rest, WEATHER_FEATURES, "accuracy", 1 / (double)curve.trainings)

NUMBER(plain_arxiv_mean, 0.7357)
NUMBER(plain_arxiv_last, 0.762)
NUMBER(plain_arxiv_once_last, 0.617)
NUMBER(plain_huffpost_mean, 0.6793)
NUMBER(plain_criteo_auc, 0.7702)
NUMBER(plain_criteo_log_loss, 1 / 0.4439)
NUMBER(plain_movies_auc, 0.680)
NUMBER(wanted_arxiv_last, 0.765)
NUMBER(wanted_huffpost_last, 0.69)
NUMBER(wanted_criteo_auc, 0.768)
NUMBER(winds_of_the_season, 1 / 1.99)
NUMBER(plain_weather_mean, 0.780)
NUMBER(all_of_it, 1)

/* Computes the share that a trigger keeps of the gain of training again each year over training once. */
static enum weir_status share_kept(struct suite *suite, enum plan plan, double *ret_share,
                                   struct weir_error *err)
{
    struct stream_curve once, yearly, ours;
    enum weir_status status = curve_of(suite, ARXIV_ONCE, "accuracy", &once, err);
    if (status == WEIR_OK)
        status = curve_of(suite, ARXIV_YEARLY, "accuracy", &yearly, err);
    if (status == WEIR_OK)
        status = curve_of(suite, plan, "accuracy", &ours, err);
    if (status == WEIR_OK)
        *ret_share = (ours.mean - once.mean) / (yearly.mean - once.mean);
    return status;
}

static enum weir_status arxiv_labels_kept(void *state, double *ret_rate, struct weir_error *err)
{
    return share_kept(state, ARXIV_LABELS, ret_rate, err);
}

static enum weir_status arxiv_mistakes_kept(void *state, double *ret_rate, struct weir_error *err)
{
    return share_kept(state, ARXIV_MISTAKES, ret_rate, err);
}

// clang-format off
#define FIGURE(name_, against_, bar_, prepare_, ours_, theirs_)                                                \
    {.name = "suite." name_, .against = against_, .unit = "of the measure", .bar = bar_, .runs_max = 1,        \
     .tolerance = BENCH_REPEATABLE, .prepare = prepare_, .ours = ours_, .theirs = theirs_}

static const struct bench_figure FIGURES[] = {
    FIGURE("arxiv.retrained", "trained once, mean accuracy of 2011 to 2019", 1.10,
           run_arxiv, arxiv_yearly_mean, arxiv_once_mean),
    FIGURE("arxiv.retrained.last", "trained once, accuracy of 2019", 1.2,
           run_arxiv, arxiv_yearly_last, arxiv_once_last),
    FIGURE("arxiv.mean", "a mean accuracy of 0.736, as a plain program", 1,
           run_arxiv, arxiv_yearly_mean, plain_arxiv_mean),
    FIGURE("arxiv.last", "an accuracy of 0.762 in 2019, as a plain program", 1,
           run_arxiv, arxiv_yearly_last, plain_arxiv_last),
    FIGURE("arxiv.once.last", "an accuracy of 0.617 in 2019, as a plain program", 1,
           run_arxiv, arxiv_once_last, plain_arxiv_once_last),
    FIGURE("arxiv.mistakes.kept", "all that training each year wins", 0.7,
           run_arxiv, arxiv_mistakes_kept, all_of_it),
    FIGURE("arxiv.mistakes.trainings", "those of each year", 1.5,
           run_arxiv, arxiv_mistakes_rest, arxiv_yearly_rest),
    FIGURE("arxiv.labels.kept", "all that training each year wins", 0.4,
           run_arxiv, arxiv_labels_kept, all_of_it),
    FIGURE("arxiv.labels.trainings", "those of each year", 1.5,
           run_arxiv, arxiv_labels_rest, arxiv_yearly_rest),
    FIGURE("huffpost.retrained", "trained once, accuracy of 2022", 1.05,
           run_huffpost, huffpost_last, huffpost_once_last),
    FIGURE("huffpost.mean", "a mean accuracy of 0.679, as a plain program", 0.98,
           run_huffpost, huffpost_mean, plain_huffpost_mean),
    FIGURE("criteo.auc", "an area of 0.7702, as a plain program", 0.99,
           run_criteo, criteo_auc, plain_criteo_auc),
    FIGURE("criteo.log_loss", "a log loss of 0.4439, as a plain program", 0.99,
           run_criteo, criteo_log_loss, plain_criteo_log_loss),
    FIGURE("arxiv.last.wanted", "an accuracy of 0.765 in 2019", 1,
           run_arxiv, arxiv_yearly_last, wanted_arxiv_last),
    FIGURE("huffpost.last.wanted", "an accuracy of 0.69 in 2022", 1,
           run_huffpost, huffpost_last, wanted_huffpost_last),
    FIGURE("criteo.auc.wanted", "an area of 0.768", 1,
           run_criteo, criteo_auc, wanted_criteo_auc),
    FIGURE("bank.retrained", "trained once, 1 / log loss of June 2009 to November 2010", 1 / 0.6,
           run_bank, bank_monthly, bank_once),
    FIGURE("winds.last", "1 / RMSE of the means of each month, 1.99, in 1992", 1,
           run_winds, winds_last, winds_of_the_season),
    FIGURE("movies.auc", "an area of 0.680, as a plain program", 0.98,
           run_movies, movies_auc, plain_movies_auc),
    FIGURE("weather.mean", "a mean accuracy of 0.780, as a plain program", 0.98,
           run_weather, weather_mean, plain_weather_mean),
    FIGURE("weather.features.mean", "training each year", 0.99,
           run_weather, weather_features_mean, weather_mean),
    FIGURE("weather.features.trainings", "those of each year", 3,
           run_weather, weather_features_rest, weather_rest),
};
// clang-format on

static enum weir_status open_suite(const char *directory, double scale, void **ret_state,
                                   struct weir_error *err)
{
    struct suite *suite = weir_calloc(1, sizeof(*suite));
    (void)scale; /* a part of a stream is another stream */
    (void)err;
    suite->directory = directory;
    *ret_state = suite;
    return WEIR_OK;
}

static void close_suite(void *state)
{
    struct suite *suite = state;
    for (size_t i = 0; i < PLAN_COUNT; i++)
        free(suite->logs[i]);
    free(suite);
}

static const struct bench SUITE = {
    .name = "suite",
    .summary = "real streams (WEIR_TEST_DATA names their folder), and what retraining is worth",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_suite,
    .close = close_suite,
};

int main(int argc, char **argv)
{
    return bench_main(&SUITE, argc, argv);
}
