/* The size at which batches cost least, by the rates that were measured: one jump, and then one step up and one down,
 * which are taken back unless they pay.
 *
 *   1  A jump goes to the best size that the response foretells (choice.h), as soon as that is better than the present
 *      one by more than the error of the rates; so early errors, which are large, do not make it run about.
 *   2  Consumers that still wait are a reason for a step up; consumers that do not wait at a size of which nothing
 *      smaller is known are one for a step down. A step is judged by a sequential test of what consumers got: it goes
 *      on until the difference is clear of the break-even, or STEP_REPORTS were seen (Wald, Sequential Analysis, 1947).
 *   3  After it has settled it moves down once an hour at most; up, when that clearly pays; and at once when consumers
 *      or workers are no longer as fast as they were.
 *   4  Consumers that neither take nor wait are away: after AWAY_S the minimum will do until they are back. */
#include "preprocess/scale/bounds.h"
#include "preprocess/scale/choice.h"

#include "core/base/elementary.h"
#include "preprocess/scale/rates.h"

#include <math.h>

enum step { STEP_DOWN = -1, STEP_NONE, STEP_UP };

struct rates {
    struct scale_response response;
    struct scale_size size;          /* as decided */
    double clock_s;                  /* sum of all spans */
    double away_s;                   /* since consumers took or waited */
    double less_after_s;             /* no jump down before, once it has settled */
    double down_after_s, up_after_s; /* no steps before */
    bool is_settled;
    uint32_t moves; /* since the rates changed */
    uint32_t still; /* reports without a move */
    /* A step that is being tried. */
    enum step step;
    struct scale_size base; /* where it began */
    uint32_t step_reports;
    uint32_t kept; /* steps in a row that paid */
};

enum {
    UNTRIED_TIMES = 4,
    STEP_PART = 10,
    STEP_REPORTS = 40,  /* judged as they are then */
    STEADY_REPORTS = 3, /* before a step, and before it has settled … */
    STILL_REPORTS = 12, /* … or more, while rates are not exact */
    MOVES_MAX = 16,     /* before it settles where it is */
};
static const double HOUR_S = 3600, AWAY_S = 120;
static const double SURE = 1.64;                      /* spreads: right in 19 of 20 steps */
static const double ERRORS = 1, SETTLED_ERRORS = 2.5; /* least worth of a move, in errors */
static const double WORTH = 0.001;                    /* … and at least */
static const double EXACT = 0.015;                    /* error of the need */

static uint32_t workers_of(const struct scale_size *size)
{
    return size->at[SCALE_POOL] + size->at[SCALE_HOST];
}

/* With so many more workers of the pool, or fewer. */
static struct scale_size beside(const struct scale_size *size, int by)
{
    struct scale_size other = *size;
    bool has_them = by >= 0 || size->at[SCALE_POOL] >= (uint32_t)-by;
    other.at[SCALE_POOL] = has_them ? size->at[SCALE_POOL] + (uint32_t)by : 0;
    return other;
}

/* ---- steps ---- */

/* The time before which such a step is not tried again. */
static double *after_of(struct rates *rates, enum step step)
{
    return step == STEP_UP ? &rates->up_after_s : &rates->down_after_s;
}

static void end_step(struct rates *rates, const struct scale_size *size)
{
    rates->size = *size;
    rates->step = STEP_NONE;
    rates->still = 0;
}

/* A tenth of the pool: of a large one a single worker would be lost in the noise for long. Twice as many after each
 * step that was kept, up to half of it. */
static uint32_t stride_of(const struct rates *rates)
{
    uint32_t pool = rates->size.at[SCALE_POOL], half = pool > 2 ? pool / 2 : 1;
    uint32_t stride = pool > STEP_PART ? pool / STEP_PART : 1;
    for (uint32_t i = 0; i < rates->kept && stride < half; i++)
        stride *= 2;
    return stride < half ? stride : half;
}

/* False: there is no such step, it would leave no pool, or one has been taken back lately. */
static bool begin_step(struct rates *rates, const struct scale_setting *setting, enum step step)
{
    struct scale_size size = beside(&rates->size, (int)stride_of(rates) * step);
    size = preprocess_scale_within(setting, &size);
    if (preprocess_scale_is_same(&size, &rates->size) || size.at[SCALE_POOL] == 0 ||
        rates->clock_s < *after_of(rates, step))
        return false;
    rates->base = rates->size;
    rates->size = size;
    rates->step = step;
    rates->step_reports = 0;
    return true;
}

/* Returns how clearly a step pays: ln of the price of a batch before it, less that with it, in spreads; NAN: it is not
 * known yet. */
static double worth_of(const struct rates *rates, const struct scale_setting *setting,
                       double *ret_worth)
{
    const struct scale_response *response = &rates->response;
    const struct scale_visit *base = preprocess_response_visit(response, &rates->base);
    const struct scale_visit *here = preprocess_response_visit(response, &rates->size);
    if (base == NULL || here == NULL)
        return NAN;
    struct scale_value before = preprocess_response_taken(response, base);
    struct scale_value now = preprocess_response_taken(response, here);
    if (!before.is_known || !now.is_known)
        return NAN;
    double dearer = weir_ln(preprocess_choice_hour(setting, &rates->size) /
                            preprocess_choice_hour(setting, &rates->base));
    *ret_worth = now.ln - before.ln - dearer;
    return *ret_worth / sqrt(before.variance + now.variance);
}

static const char *go_on_with_step(struct rates *rates, const struct scale_setting *setting)
{
    double worth = -1, clear = worth_of(rates, setting, &worth);
    bool is_over = ++rates->step_reports >= STEP_REPORTS;
    if (!is_over && !(fabs(clear) > SURE))
        return rates->step == STEP_UP ? "up" : "down";
    rates->kept = worth > 0 ? rates->kept + 1 : 0;
    if (worth > 0) {
        end_step(rates, &rates->size);
        return "kept";
    }
    *after_of(rates, rates->step) = rates->clock_s + HOUR_S;
    end_step(rates, &rates->base);
    return "back";
}

/* A smaller pool was seen. */
static bool is_known_below(const struct rates *rates)
{
    for (size_t i = 0; i < rates->response.count; i++) {
        const struct scale_visit *visit = &rates->response.visits[i];
        if (visit->made[SCALE_POOL].reports > 0 &&
            visit->size.at[SCALE_POOL] < rates->size.at[SCALE_POOL])
            return true;
    }
    return false;
}

/* Begins a step if there is a reason (rule 2). */
static bool try_step(struct rates *rates, const struct scale_setting *setting)
{
    const struct scale_visit *here = preprocess_response_newest(&rates->response);
    if (here == NULL || !preprocess_scale_is_same(&here->size, &rates->size) ||
        here->taken.reports < STEADY_REPORTS)
        return false;
    bool waits = preprocess_response_waits(&rates->response, here);
    if (waits && begin_step(rates, setting, STEP_UP))
        return true;
    return (waits || !is_known_below(rates)) && begin_step(rates, setting, STEP_DOWN);
}

/* ---- jumps ---- */

static double made_by(const struct scale_forecast *forecast, const struct scale_size *size)
{
    return forecast->pool[size->at[SCALE_POOL]] + forecast->host[size->at[SCALE_HOST]];
}

/* True when another size is better even if workers make more, or less, than is known, by so many errors. */
static bool pays_anyway(const struct rates *rates, const struct scale_setting *setting,
                        const struct scale_forecast *forecast, double errors)
{
    struct scale_forecast other = *forecast;
    preprocess_forecast_scale(&other,
                              weir_exp(errors * preprocess_response_error(&rates->response)));
    struct scale_size best = preprocess_choice_best(setting, &other);
    bool is_more = made_by(forecast, &best) > made_by(forecast, &rates->size);
    return is_more == (errors > 0) &&
           preprocess_choice_price(setting, &other, &best) <
               preprocess_choice_price(setting, &other, &rates->size) * (1 - WORTH);
}

/* True when it is time to move (rules 1 and 3). */
static bool pays(const struct rates *rates, const struct scale_setting *setting,
                 const struct scale_forecast *forecast)
{
    double errors = rates->is_settled ? SETTLED_ERRORS : ERRORS;
    if (!rates->is_settled && rates->moves == MOVES_MAX)
        return false;
    if (pays_anyway(rates, setting, forecast, errors))
        return true;
    return (!rates->is_settled || rates->clock_s >= rates->less_after_s) &&
           pays_anyway(rates, setting, forecast, -errors);
}

static bool is_exact(const struct rates *rates)
{
    return preprocess_response_error(&rates->response) < EXACT;
}

/* The best size by what is known. Workers on the host that cost nothing and were never tried are taken to be slow, so
 * there are more of them; those of the pool stay until it is known what the others bring. */
static struct scale_size best_of(const struct rates *rates, const struct scale_setting *setting,
                                 const struct scale_forecast *forecast)
{
    struct scale_size best = preprocess_choice_best(setting, forecast);
    uint32_t host = best.at[SCALE_HOST];
    if (!forecast->host_is_guessed || host == 0 || setting->worker_hour[SCALE_HOST] > 0)
        return best;
    best.at[SCALE_HOST] = host * UNTRIED_TIMES;
    if (best.at[SCALE_POOL] < rates->size.at[SCALE_POOL])
        best.at[SCALE_POOL] = rates->size.at[SCALE_POOL];
    return preprocess_scale_within(setting, &best);
}

static void settle(struct rates *rates)
{
    if (!rates->is_settled)
        rates->less_after_s = rates->clock_s + HOUR_S;
    rates->is_settled = true;
}

static const char *move(struct rates *rates, const struct scale_setting *setting,
                        const struct scale_forecast *forecast)
{
    struct scale_size best = best_of(rates, setting, forecast);
    if (!preprocess_scale_is_same(&best, &rates->size) && pays(rates, setting, forecast)) {
        if (rates->is_settled && workers_of(&best) < workers_of(&rates->size))
            rates->less_after_s = rates->clock_s + HOUR_S;
        rates->size = best;
        rates->moves++;
        rates->still = rates->kept = 0;
        return "jump";
    }
    if (try_step(rates, setting))
        return rates->step == STEP_UP ? "up" : "down";
    rates->still++;
    if (rates->still >= STILL_REPORTS || (rates->still >= STEADY_REPORTS && is_exact(rates)))
        settle(rates);
    return rates->is_settled ? "settled" : "measuring";
}

/* ---- decisions ---- */

/* The need in whole workers is the size, or what is tried has no need. */
static double need_of(const struct rates *rates, const struct scale_forecast *forecast)
{
    uint32_t host = rates->size.at[SCALE_HOST];
    uint32_t pool = rates->size.at[SCALE_POOL];
    host = host < forecast->max.at[SCALE_HOST] ? host : forecast->max.at[SCALE_HOST];
    double need = preprocess_forecast_need(forecast, host);
    return rates->is_settled ? fmax(fmin(need, pool), (double)pool - 1) : need;
}

static void note_options(const struct rates *rates, const struct scale_setting *setting,
                         const struct scale_forecast *forecast, struct scale_decision *decision)
{
    struct scale_size best = preprocess_choice_best(setting, forecast);
    struct scale_size up = beside(&rates->size, 1), down = beside(&rates->size, -1);
    preprocess_choice_note(setting, forecast, &decision->size, decision);
    preprocess_choice_note(setting, forecast, &best, decision);
    preprocess_choice_note(setting, forecast, &up, decision);
    preprocess_choice_note(setting, forecast, &down, decision);
    if (setting->max.at[SCALE_HOST] == 0)
        return;
    struct scale_size alone = {{setting->max.at[SCALE_POOL], 0}};
    preprocess_choice_note(setting, forecast,
                           &(struct scale_size){{0, setting->max.at[SCALE_HOST]}}, decision);
    alone.at[SCALE_POOL] = (uint32_t)ceil(preprocess_forecast_need(forecast, 0));
    preprocess_choice_note(setting, forecast, &alone, decision);
}

static void decide(const struct rates *rates, const struct scale_setting *setting, const char *why,
                   struct scale_decision *ret_decision)
{
    struct scale_forecast forecast;
    struct scale_size top = setting->max;
    for (size_t place = 0; place < SCALE_PLACES; place++)
        top.at[place] =
            top.at[place] > rates->size.at[place] ? top.at[place] : rates->size.at[place];
    *ret_decision = (struct scale_decision){
        .size = preprocess_scale_within(setting, &rates->size),
        .need = 1,
        .why = why,
        .is_settled = rates->is_settled && rates->step == STEP_NONE,
    };
    if (!preprocess_response_forecast(&rates->response, &top, &forecast))
        return;
    ret_decision->need = need_of(rates, &forecast);
    note_options(rates, setting, &forecast, ret_decision);
}

static void begin(void *state, const struct scale_setting *setting,
                  struct scale_decision *ret_decision)
{
    struct rates *rates = state;
    rates->size = preprocess_scale_within(setting, &(struct scale_size){0});
    decide(rates, setting, "measuring", ret_decision);
}

/* Counts the time in which consumers neither take nor wait (rule 4). */
static void watch_presence(struct rates *rates, const struct scale_report *report)
{
    bool is_away = !(preprocess_scale_taken(report) > 0) &&
                   preprocess_scale_waited_s(report) < report->span_s / 2;
    rates->away_s = is_away ? rates->away_s + report->span_s : 0;
}

static const char *decide_by(struct rates *rates, const struct scale_setting *setting,
                             enum scale_news news)
{
    struct scale_forecast forecast;
    if (news == SCALE_CHANGED) {
        if (rates->step != STEP_NONE)
            end_step(rates, &rates->base);
        rates->is_settled = false;
        rates->moves = rates->still = rates->kept = 0;
        rates->up_after_s = rates->down_after_s = 0;
    }
    if (rates->step != STEP_NONE)
        return go_on_with_step(rates, setting);
    if (!preprocess_response_forecast(&rates->response, &setting->max, &forecast))
        return "measuring";
    return move(rates, setting, &forecast);
}

static void report(void *state, const struct scale_setting *setting,
                   const struct scale_report *report, struct scale_decision *ret_decision)
{
    struct rates *rates = state;
    const char *why = "unclear";
    rates->size = preprocess_scale_within(setting, &rates->size); /* the bounds may be others */
    if (isfinite(report->span_s) && report->span_s > 0) {
        rates->clock_s += report->span_s;
        watch_presence(rates, report);
        enum scale_news news = preprocess_response_add(&rates->response, report);
        if (news != SCALE_NOTHING)
            why = decide_by(rates, setting, news);
    }
    rates->size = preprocess_scale_within(setting, &rates->size);
    decide(rates, setting, why, ret_decision);
    if (rates->away_s < AWAY_S)
        return;
    ret_decision->size = preprocess_scale_within(setting, &(struct scale_size){0});
    ret_decision->why = "away";
}

static const struct cfg_key OPTIONS[] = {CFG_END};

const struct scale_policy preprocess_policy_rates = {
    .name = "rates",
    .summary = "by the rates of consumers and workers, verified by a step up and down",
    .options = OPTIONS,
    .state_size = sizeof(struct rates),
    .begin = begin,
    .report = report,
};
