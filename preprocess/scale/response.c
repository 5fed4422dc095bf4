/* See response.h. */
#include "preprocess/scale/response.h"

#include "core/base/elementary.h"
#include "preprocess/scale/bounds.h"
#include "preprocess/scale/rates.h"

#include <math.h>
#include <string.h>

static const double REPORTS_MAX = 200; /* at most, averaged into a rate */
static const double WAIT = 0.02;       /* of the time; less is not waiting */
static const double JITTER =
    0.6; /* of a spread; consumers wait so long for what is late, not for what is missing */
static const double SURE = 2.5,
                    HARDLY = 0.02; /* spreads, and a share: rates that differ by more, do */
static const double STALE = 0.05, CERTAIN = 4; /* the same, of a pool that has changed */
static const double BEGUN = 0.5,
                    BEGUN_VARIANCE = 1.0 / 6; /* batches under way at either end of a count */

/* ---- rates ---- */

/* Of a count that `edges` workers or consumers have made, in step at worst: those that start together often are. */
static double counting_of(double batches, double edges)
{
    return BEGUN_VARIANCE * (edges / batches) * (edges / batches);
}

static struct scale_value value_of(const struct scale_tally *tally, const struct scale_watch *watch,
                                   double edges)
{
    if (tally->reports <= 0 || tally->batches <= 0 || tally->seconds <= 0)
        return (struct scale_value){0};
    double spread = preprocess_watch_spread(watch);
    return (struct scale_value){
        .ln = weir_ln(tally->batches / tally->seconds),
        .variance = spread * spread / tally->reports + counting_of(tally->batches, edges),
        .is_known = true,
    };
}

static void add(struct scale_tally *tally, const struct scale_tally *more)
{
    double kept = tally->reports < REPORTS_MAX ? 1 : 1 - 1 / REPORTS_MAX;
    tally->batches = tally->batches * kept + more->batches;
    tally->seconds = tally->seconds * kept + more->seconds;
    tally->reports = tally->reports * kept + more->reports;
}

/* ---- visits ---- */

const struct scale_visit *preprocess_response_visit(const struct scale_response *response,
                                                    const struct scale_size *size)
{
    for (size_t i = 0; i < response->count; i++) {
        if (preprocess_scale_is_same(&response->visits[i].size, size))
            return &response->visits[i];
    }
    return NULL;
}

const struct scale_visit *preprocess_response_newest(const struct scale_response *response)
{
    return response->reports > 0 ? preprocess_response_visit(response, &response->last) : NULL;
}

/* The visit of a size; a new one takes the place of the one that was left longest ago, if need be. */
static struct scale_visit *visit_of(struct scale_response *response, const struct scale_size *size)
{
    size_t oldest = 0;
    for (size_t i = 0; i < response->count; i++) {
        if (preprocess_scale_is_same(&response->visits[i].size, size))
            return &response->visits[i];
        if (response->visits[i].newest < response->visits[oldest].newest)
            oldest = i;
    }
    size_t at = response->count < RESPONSE_VISITS_MAX ? response->count++ : oldest;
    response->visits[at] = (struct scale_visit){.size = *size};
    return &response->visits[at];
}

/* The consumers' own rate beside so many workers on the host: of all visits that had them. */
static struct scale_value own_beside(const struct scale_response *response, uint32_t host)
{
    struct scale_tally sum = {0};
    for (size_t i = 0; i < response->count; i++) {
        if (response->visits[i].size.at[SCALE_HOST] == host)
            add(&sum, &response->visits[i].own);
    }
    return value_of(&sum, &response->own, 1);
}

static struct scale_value made_of(const struct scale_response *response,
                                  const struct scale_visit *visit, enum scale_place place)
{
    return value_of(&visit->made[place], &response->made, visit->size.at[place]);
}

struct scale_value preprocess_response_taken(const struct scale_response *response,
                                             const struct scale_visit *visit)
{
    return value_of(&visit->taken, &response->taken, 1);
}

/* All that workers say they can make. */
static double said_of(const struct scale_response *response, const struct scale_visit *visit)
{
    double made = 0;
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++) {
        struct scale_value each = made_of(response, visit, place);
        made += each.is_known ? visit->size.at[place] * weir_exp(each.ln) : 0;
    }
    return made;
}

bool preprocess_response_waits(const struct scale_response *response,
                               const struct scale_visit *visit)
{
    struct scale_value own = own_beside(response, visit->size.at[SCALE_HOST]);
    struct scale_value taken = preprocess_response_taken(response, visit);
    double doubt = JITTER * preprocess_watch_spread(&response->taken) + 2 * sqrt(taken.variance);
    return own.is_known && taken.is_known && own.ln - taken.ln > fmax(WAIT, doubt);
}

/* The part that is had of what the workers say (rule 3). */
static struct scale_value reach_of(const struct scale_response *response,
                                   const struct scale_visit *visit)
{
    double said = said_of(response, visit);
    if (!preprocess_response_waits(response, visit) || said <= 0)
        return visit->reach;
    struct scale_value taken = preprocess_response_taken(response, visit);
    return (struct scale_value){taken.ln - weir_ln(said), taken.variance, true};
}

/* ---- reports ---- */

struct seen {
    struct scale_size size;
    struct scale_tally own, taken, made[SCALE_PLACES];
    enum scale_place main; /* place of most workers */
    bool is_moving;        /* workers came or went in it */
};

static void count_takers(const struct scale_report *report, struct seen *seen)
{
    double taken = preprocess_scale_taken(report), wanted = preprocess_scale_wanted(report);
    seen->taken = (struct scale_tally){taken, report->span_s, 1};
    double own_s = report->span_s * (1 - preprocess_scale_stall(report));
    seen->own = (struct scale_tally){taken, wanted > 0 ? taken / wanted : own_s, 1};
}

static void count_makers(const struct scale_report *report, struct seen *seen)
{
    uint32_t makers[SCALE_PLACES] = {0};
    for (size_t i = 0; i < report->maker_count; i++) {
        const struct scale_maker *maker = &report->makers[i];
        makers[maker->place]++;
        seen->made[maker->place].batches += maker->batches;
        seen->made[maker->place].seconds += maker->busy_s;
    }
    for (size_t place = 0; place < SCALE_PLACES; place++) {
        seen->made[place].reports = seen->size.at[place] > 0;
        seen->is_moving |= makers[place] > seen->size.at[place];
    }
}

/* Batches under way, where none was before: the first report has less than was made. */
static void add_begun(struct seen *seen)
{
    seen->own.batches += BEGUN;
    seen->taken.batches += BEGUN;
    for (size_t place = 0; place < SCALE_PLACES; place++)
        seen->made[place].batches += BEGUN * seen->size.at[place];
}

static bool is_rate(const struct scale_tally *tally)
{
    double rate = tally->batches / tally->seconds;
    return tally->batches > 0 && tally->seconds > 0 && isfinite(rate) && rate > 0;
}

static void see(const struct scale_report *report, struct seen *seen)
{
    *seen = (struct seen){0};
    memcpy(seen->size.at, report->workers, sizeof(seen->size.at));
    seen->main = seen->size.at[SCALE_POOL] >= seen->size.at[SCALE_HOST] ? SCALE_POOL : SCALE_HOST;
    count_takers(report, seen);
    count_makers(report, seen);
}

static bool is_whole(const struct seen *seen)
{
    return seen->size.at[seen->main] > 0 && is_rate(&seen->own) && is_rate(&seen->taken) &&
           is_rate(&seen->made[seen->main]);
}

static void join(struct scale_tally *tally, const struct scale_tally *more)
{
    tally->batches += more->batches;
    tally->seconds += more->seconds;
}

/* Keeps what a report has in which no batch came for the next one of that size (rule 9). */
static void carry(struct scale_response *response, const struct seen *seen)
{
    struct scale_visit *carried = &response->carried;
    if (seen->taken.batches > 0 || seen->is_moving)
        return;
    if (!preprocess_scale_is_same(&carried->size, &seen->size))
        *carried = (struct scale_visit){.size = seen->size};
    join(&carried->own, &seen->own);
    join(&carried->taken, &seen->taken);
    for (size_t place = 0; place < SCALE_PLACES; place++)
        join(&carried->made[place], &seen->made[place]);
}

static void take_carried(struct scale_response *response, struct seen *seen)
{
    const struct scale_visit *carried = &response->carried;
    if (preprocess_scale_is_same(&carried->size, &seen->size)) {
        join(&seen->own, &carried->own);
        join(&seen->taken, &carried->taken);
        for (size_t place = 0; place < SCALE_PLACES; place++)
            join(&seen->made[place], &carried->made[place]);
    }
    response->carried = (struct scale_visit){.newest = 0};
}

static void own_changed(struct scale_response *response, struct scale_visit *here,
                        const struct scale_tally *level)
{
    struct scale_value reaches[RESPONSE_VISITS_MAX];
    for (size_t i = 0; i < response->count; i++)
        reaches[i] = reach_of(response, &response->visits[i]);
    for (size_t i = 0; i < response->count; i++) {
        struct scale_visit *visit = &response->visits[i];
        visit->reach = reaches[i];
        visit->own = visit->taken = (struct scale_tally){0};
    }
    here->own = *level;
}

/* Forgets the rates of workers at a size, and what follows from them. */
static void forget_made(struct scale_visit *visit)
{
    memset(visit->made, 0, sizeof(visit->made));
    visit->taken = (struct scale_tally){0};
    visit->reach = (struct scale_value){0};
}

static void made_changed(struct scale_response *response, struct scale_visit *here,
                         enum scale_place place, const struct scale_tally *level)
{
    for (size_t i = 0; i < response->count; i++)
        forget_made(&response->visits[i]);
    here->made[place] = *level;
}

/* Has the watch compare what was seen with its level. */
static enum scale_verdict compare(struct scale_watch *watch, const struct scale_value *level,
                                  const struct scale_tally *tally, double edges,
                                  struct scale_tally *ret_tally)
{
    if (!level->is_known) {
        preprocess_watch_pause(watch);
        return SCALE_SAME;
    }
    struct scale_residual residual = {
        .by = weir_ln(tally->batches / tally->seconds) - level->ln,
        .counting = counting_of(tally->batches, edges),
        .level = level->variance,
    };
    return preprocess_watch_add(watch, &residual, tally, ret_tally);
}

/* True: the consumers' rate has changed, and the report is taken in. */
static bool take_own(struct scale_response *response, struct scale_visit *here,
                     const struct seen *seen)
{
    struct scale_value own = own_beside(response, seen->size.at[SCALE_HOST]);
    struct scale_tally level;
    enum scale_verdict verdict = compare(&response->own, &own, &seen->own, 1, &level);
    if (verdict == SCALE_OTHER)
        own_changed(response, here, &level);
    if (verdict == SCALE_SAME)
        add(&here->own, &seen->own);
    return verdict == SCALE_OTHER;
}

/* Forgets visits from when workers were faster, or slower, than they are now (rule 8). True: there were any. */
static bool forget_stale(struct scale_response *response, const struct scale_visit *here,
                         enum scale_place place)
{
    struct scale_value now = made_of(response, here, place);
    bool are_any = false;
    for (size_t i = 0; i < response->count && now.is_known; i++) {
        struct scale_visit *visit = &response->visits[i];
        struct scale_value then = made_of(response, visit, place);
        double faster = now.ln - then.ln;
        double doubt = STALE + CERTAIN * sqrt(now.variance + then.variance);
        bool has_more = here->size.at[place] >= visit->size.at[place];
        if (visit == here || !then.is_known || (has_more ? faster : -faster) < doubt)
            continue;
        forget_made(visit);
        are_any = true;
    }
    return are_any;
}

static enum scale_verdict take_made(struct scale_response *response, struct scale_visit *here,
                                    const struct seen *seen)
{
    struct scale_value made = made_of(response, here, seen->main);
    const struct scale_tally *main = &seen->made[seen->main];
    struct scale_tally level;
    enum scale_verdict verdict =
        compare(&response->made, &made, main, seen->size.at[seen->main], &level);
    if (verdict == SCALE_OTHER)
        made_changed(response, here, seen->main, &level);
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++) {
        bool counts = place != seen->main || verdict == SCALE_SAME;
        if (counts && is_rate(&seen->made[place]))
            add(&here->made[place], &seen->made[place]);
    }
    return forget_stale(response, here, seen->main) ? SCALE_OTHER : verdict;
}

/* Takes in the batches that consumers got. That changes with the other rates, which are news alone. */
static void take_taken(struct scale_response *response, struct scale_visit *here,
                       const struct seen *seen)
{
    struct scale_value taken = preprocess_response_taken(response, here);
    struct scale_tally level;
    enum scale_verdict verdict = compare(&response->taken, &taken, &seen->taken, 1, &level);
    if (verdict == SCALE_OTHER)
        here->taken = level;
    if (verdict == SCALE_SAME)
        add(&here->taken, &seen->taken);
}

/* The first report is of a start, when nothing has got going: it counts until there is another of that size. */
static void forget_start(struct scale_response *response, struct scale_visit *here)
{
    if (response->has_start && here->newest > 0) {
        *here = (struct scale_visit){.size = here->size, .newest = here->newest};
        response->has_start = false;
    }
}

enum scale_news preprocess_response_add(struct scale_response *response,
                                        const struct scale_report *report)
{
    struct seen seen;
    enum scale_verdict made = SCALE_SAME;
    see(report, &seen);
    take_carried(response, &seen);
    if (!is_whole(&seen)) {
        carry(response, &seen);
        return SCALE_NOTHING;
    }
    bool is_first = response->reports == 0;
    bool has_moved = !is_first && !preprocess_scale_is_same(&response->last, &seen.size);
    bool is_steady = !seen.is_moving && !response->is_moving && !has_moved;
    struct scale_visit *here = visit_of(response, &seen.size);
    if (is_first)
        add_begun(&seen);
    else if (is_steady)
        forget_start(response, here);
    bool own_is_new = take_own(response, here, &seen);
    if (is_steady) {
        made = take_made(response, here, &seen);
        if (made == SCALE_SAME) /* else it may be old news of the workers */
            take_taken(response, here, &seen);
    }
    response->has_start |= is_first;
    response->last = seen.size;
    response->is_moving = seen.is_moving;
    here->newest = ++response->reports;
    return own_is_new || made == SCALE_OTHER ? SCALE_CHANGED : SCALE_MORE;
}

/* Of the whole of all visits. */
double preprocess_response_error(const struct scale_response *response)
{
    struct scale_tally made = {0}, own = {0};
    double workers = 1;
    for (size_t i = 0; i < response->count; i++) {
        const struct scale_visit *visit = &response->visits[i];
        for (size_t place = 0; place < SCALE_PLACES; place++) {
            workers = fmax(workers, visit->size.at[place]);
            add(&made, &visit->made[place]);
        }
        add(&own, &visit->own);
    }
    struct scale_value of_made = value_of(&made, &response->made, workers);
    struct scale_value of_own = value_of(&own, &response->own, 1);
    return of_made.is_known && of_own.is_known ? sqrt(of_made.variance + of_own.variance) : 1;
}

/* ---- curves ---- */

struct point {
    double x, y;
    double weight; /* 1 / variance of y, or of its ln */
};

/* Points by rising x, one for each. */
struct curve {
    struct point points[RESPONSE_VISITS_MAX];
    size_t count;
};

static void put(struct curve *curve, double x, double y, double weight)
{
    size_t at = 0;
    while (at < curve->count && curve->points[at].x < x)
        at++;
    struct point *point = &curve->points[at];
    if (at < curve->count && !(point->x > x)) {
        point->weight += weight;
        point->y += (y - point->y) * weight / point->weight;
        return;
    }
    memmove(point + 1, point, (curve->count - at) * sizeof(*point));
    *point = (struct point){x, y, weight};
    curve->count++;
}

static double mean_of(const struct curve *curve)
{
    double mean = 0, weight = 0;
    for (size_t i = 0; i < curve->count; i++) {
        weight += curve->points[i].weight;
        mean += (curve->points[i].y - mean) * curve->points[i].weight / weight;
    }
    return mean;
}

/* Rule 2; y is the ln of a worker's rate. */
static bool is_flat(const struct curve *curve, double mean)
{
    for (size_t i = 0; i < curve->count; i++) {
        double doubt = SURE / sqrt(curve->points[i].weight);
        if (fabs(curve->points[i].y - mean) > doubt + HARDLY)
            return false;
    }
    return true;
}

/* y becomes what so many workers make together. */
static void multiply_out(struct curve *curve, bool is_linear, double mean)
{
    for (size_t i = 0; i < curve->count; i++) {
        struct point *point = &curve->points[i];
        point->y = point->x * weir_exp(is_linear ? mean : point->y);
    }
}

static struct curve capacity_of(const struct scale_response *response, enum scale_place place)
{
    struct curve curve = {0};
    for (size_t i = 0; i < response->count; i++) {
        const struct scale_visit *visit = &response->visits[i];
        struct scale_value made = made_of(response, visit, place);
        struct scale_value reach = reach_of(response, visit);
        double variance = reach.is_known ? fmax(made.variance, reach.variance) : made.variance;
        if (made.is_known && visit->size.at[place] > 0)
            put(&curve, visit->size.at[place], made.ln + reach.ln, 1 / variance);
    }
    double mean = mean_of(&curve);
    multiply_out(&curve, is_flat(&curve, mean), mean);
    return curve;
}

static double slope(const struct point *from, const struct point *to)
{
    return (to->y - from->y) / (to->x - from->x);
}

/* Beyond the last point (rule 4). */
static double beyond(const struct point *before, const struct point *last, double x)
{
    double at_last = last->x / last->y;
    double growth = before->x > 0 ? (at_last - before->x / before->y) / (last->x - before->x) : 0;
    return x / (at_last + fmax(growth, 0) * (x - last->x));
}

static double capacity_at(const struct curve *curve, double x)
{
    static const struct point ORIGIN = {0};
    size_t at = 0;
    while (at < curve->count && curve->points[at].x < x)
        at++;
    const struct point *left = at > 0 ? &curve->points[at - 1] : &ORIGIN;
    const struct point *before = at > 1 ? &curve->points[at - 2] : &ORIGIN;
    if (at == curve->count)
        return beyond(before, left, x);
    const struct point *right = &curve->points[at];
    double chord = slope(left, right);
    if (left == &ORIGIN || chord <= 0)
        return left->y + chord * (x - left->x);
    return fmin(left->y + fmax(chord, slope(before, left)) * (x - left->x), right->y);
}

static double own_at(const struct curve *curve, double x)
{
    size_t at = 0;
    while (at < curve->count && curve->points[at].x < x)
        at++;
    if (at == 0)
        return curve->points[0].y;
    const struct point *left = &curve->points[at - 1];
    if (at == curve->count) {
        double fall = at > 1 ? fmin(slope(left - 1, left), 0) : 0;
        return fmax(left->y + fall * (x - left->x), left->y / 4);
    }
    const struct point *right = &curve->points[at];
    double line = left->y + slope(left, right) * (x - left->x);
    return right->y < left->y && right->x > x ? (line + left->y) / 2 : line;
}

/* ---- the forecast ---- */

static void tabulate(const struct curve *curve, double (*at)(const struct curve *, double),
                     uint32_t max, double *ret_table)
{
    for (uint32_t i = 0; i <= max; i++)
        ret_table[i] = at(curve, i);
}

static uint32_t table_max(uint32_t max)
{
    return max < SCALE_WORKERS_MAX ? max : SCALE_WORKERS_MAX;
}

bool preprocess_response_forecast(const struct scale_response *response,
                                  const struct scale_size *max, struct scale_forecast *ret_forecast)
{
    struct curve pool = capacity_of(response, SCALE_POOL);
    struct curve host = capacity_of(response, SCALE_HOST);
    struct curve own = {0};
    for (size_t i = 0; i < response->count; i++) {
        const struct scale_visit *visit = &response->visits[i];
        struct scale_value each = value_of(&visit->own, &response->own, 1);
        if (each.is_known)
            put(&own, visit->size.at[SCALE_HOST], weir_exp(each.ln), 1 / each.variance);
    }
    if (pool.count + host.count == 0 || own.count == 0)
        return false;
    ret_forecast->max =
        (struct scale_size){{table_max(max->at[SCALE_POOL]), table_max(max->at[SCALE_HOST])}};
    ret_forecast->host_is_guessed = host.count == 0;
    tabulate(pool.count > 0 ? &pool : &host, capacity_at, ret_forecast->max.at[SCALE_POOL],
             ret_forecast->pool);
    tabulate(host.count > 0 ? &host : &pool, capacity_at, ret_forecast->max.at[SCALE_HOST],
             ret_forecast->host);
    tabulate(&own, own_at, ret_forecast->max.at[SCALE_HOST], ret_forecast->own);
    return true;
}

void preprocess_forecast_scale(struct scale_forecast *forecast, double factor)
{
    for (uint32_t i = 0; i <= forecast->max.at[SCALE_POOL]; i++)
        forecast->pool[i] *= factor;
    for (uint32_t i = 0; i <= forecast->max.at[SCALE_HOST]; i++)
        forecast->host[i] *= factor;
}

double preprocess_forecast_batch_s(const struct scale_forecast *forecast,
                                   const struct scale_size *size)
{
    uint32_t pool = size->at[SCALE_POOL], host = size->at[SCALE_HOST];
    pool = pool < forecast->max.at[SCALE_POOL] ? pool : forecast->max.at[SCALE_POOL];
    host = host < forecast->max.at[SCALE_HOST] ? host : forecast->max.at[SCALE_HOST];
    double made = forecast->pool[pool] + forecast->host[host];
    return 1 / fmin(forecast->own[host], made);
}

double preprocess_forecast_need(const struct scale_forecast *forecast, uint32_t host)
{
    double missing = forecast->own[host] - forecast->host[host];
    uint32_t max = forecast->max.at[SCALE_POOL], at = 0;
    while (at < max && forecast->pool[at] < missing)
        at++;
    if (at == 0 || forecast->pool[at] < missing)
        return at;
    double before = forecast->pool[at - 1];
    return at - 1 + (missing - before) / (forecast->pool[at] - before);
}
