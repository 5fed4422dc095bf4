/* See response.h. */
#include "preprocess/scale/response.h"

#include "core/base/elementary.h"
#include "preprocess/scale/rates.h"

#include <math.h>
#include <string.h>

static const double COUNT_MAX = 200; /* values that a mean is taken over */
static const double WAIT = 0.02;     /* of the time; less is not waiting */
static const double JITTER =
    0.6; /* of a spread; consumers wait so long for what is late, not for what is missing */
static const double SURE = 2.5,
                    HARDLY = 0.02; /* spreads, and a share: rates that differ by more, do */

static double mean_spread(const struct scale_watch *watch, double count)
{
    return preprocess_watch_spread(watch) / sqrt(fmax(count, 1));
}

static void add(struct scale_mean *mean, double ln)
{
    mean->count = fmin(mean->count + 1, COUNT_MAX);
    mean->ln += (ln - mean->ln) / mean->count;
}

static bool is_same(const struct scale_size *a, const struct scale_size *b)
{
    return a->at[SCALE_POOL] == b->at[SCALE_POOL] && a->at[SCALE_HOST] == b->at[SCALE_HOST];
}

/* ---- visits ---- */

const struct scale_visit *preprocess_response_visit(const struct scale_response *response,
                                                    const struct scale_size *size)
{
    for (size_t i = 0; i < response->count; i++) {
        if (is_same(&response->visits[i].size, size))
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
        if (is_same(&response->visits[i].size, size))
            return &response->visits[i];
        if (response->visits[i].newest < response->visits[oldest].newest)
            oldest = i;
    }
    size_t at = response->count < RESPONSE_VISITS_MAX ? response->count++ : oldest;
    response->visits[at] = (struct scale_visit){.size = *size};
    return &response->visits[at];
}

/* The consumers' own rate beside so many workers on the host: of all visits that had them. */
static struct scale_mean own_beside(const struct scale_response *response, uint32_t host)
{
    struct scale_mean mean = {0};
    for (size_t i = 0; i < response->count; i++) {
        const struct scale_visit *visit = &response->visits[i];
        if (visit->size.at[SCALE_HOST] != host || visit->own.count <= 0)
            continue;
        mean.count += visit->own.count;
        mean.ln += (visit->own.ln - mean.ln) * visit->own.count / mean.count;
    }
    return mean;
}

static double said_of(const struct scale_visit *visit)
{
    double made = 0;
    for (size_t place = 0; place < SCALE_PLACES; place++) {
        if (visit->made[place].count > 0)
            made += visit->size.at[place] * weir_exp(visit->made[place].ln);
    }
    return made;
}

bool preprocess_response_waits(const struct scale_response *response,
                               const struct scale_visit *visit)
{
    double own = own_beside(response, visit->size.at[SCALE_HOST]).ln;
    double doubt = JITTER * preprocess_watch_spread(&response->taken) +
                   2 * mean_spread(&response->taken, visit->taken.count);
    return visit->taken.count > 0 && own - visit->taken.ln > fmax(WAIT, doubt);
}

/* ln of the part that is had of what the workers say (rule 3). */
static struct scale_mean reach_of(const struct scale_response *response,
                                  const struct scale_visit *visit)
{
    double said = said_of(visit);
    if (!preprocess_response_waits(response, visit) || said <= 0)
        return visit->reach;
    return (struct scale_mean){visit->taken.ln - weir_ln(said), visit->taken.count};
}

/* ---- reports ---- */

struct seen {
    struct scale_size size;
    double own, taken;         /* ln */
    double made[SCALE_PLACES]; /* batches a second; 0: none */
    enum scale_place main;     /* place of most workers */
};

static bool see(const struct scale_report *report, struct seen *seen)
{
    double own = preprocess_scale_wanted(report), taken = 0;
    for (size_t i = 0; i < report->taker_count; i++)
        taken += report->takers[i].batches;
    taken = report->span_s > 0 ? taken / report->span_s : 0;
    memcpy(seen->size.at, report->workers, sizeof(seen->size.at));
    seen->main = seen->size.at[SCALE_POOL] >= seen->size.at[SCALE_HOST] ? SCALE_POOL : SCALE_HOST;
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++)
        seen->made[place] = seen->size.at[place] > 0 ? preprocess_scale_made(report, place) : 0;
    if (!(own > 0 && taken > 0 && seen->made[seen->main] > 0) || !isfinite(own) ||
        !isfinite(taken) || !isfinite(seen->made[SCALE_POOL] + seen->made[SCALE_HOST]))
        return false;
    seen->own = weir_ln(own);
    seen->taken = fmin(weir_ln(taken), seen->own);
    return true;
}

static void own_changed(struct scale_response *response, struct scale_visit *here,
                        struct scale_mean level)
{
    for (size_t i = 0; i < response->count; i++) {
        struct scale_visit *visit = &response->visits[i];
        visit->reach = reach_of(response, visit);
        visit->taken = (struct scale_mean){0};
    }
    for (size_t i = 0; i < response->count; i++)
        response->visits[i].own = (struct scale_mean){0};
    here->own = level;
}

static void made_changed(struct scale_response *response, struct scale_visit *here,
                         enum scale_place place, struct scale_mean level)
{
    struct scale_mean other = here->made[1 - place];
    for (size_t i = 0; i < response->count; i++) {
        struct scale_visit *visit = &response->visits[i];
        memset(visit->made, 0, sizeof(visit->made));
        visit->taken = (struct scale_mean){0};
        visit->reach = (struct scale_mean){0};
    }
    here->made[place] = level;
    here->made[1 - place] = (struct scale_mean){other.ln, fmin(other.count, 1)};
}

/* Looks for a change. True: there is one, and `seen` is taken in with it. */
static bool watch_own(struct scale_response *response, struct scale_visit *here,
                      const struct seen *seen)
{
    struct scale_mean own = own_beside(response, seen->size.at[SCALE_HOST]);
    struct scale_shift shift;
    if (own.count <= 0) {
        preprocess_watch_pause(&response->own);
        return false;
    }
    if (!preprocess_watch_add(&response->own, seen->own - own.ln, own.count, &shift))
        return false;
    own_changed(response, here, (struct scale_mean){own.ln + shift.by, shift.count});
    return true;
}

static bool watch_made(struct scale_response *response, struct scale_visit *here,
                       const struct seen *seen)
{
    struct scale_mean made = here->made[seen->main];
    struct scale_shift shift;
    double ln = weir_ln(seen->made[seen->main]);
    if (made.count <= 0) {
        preprocess_watch_pause(&response->made);
        return false;
    }
    if (!preprocess_watch_add(&response->made, ln - made.ln, made.count, &shift))
        return false;
    made_changed(response, here, seen->main, (struct scale_mean){made.ln + shift.by, shift.count});
    return true;
}

static void add_made(struct scale_visit *here, const struct seen *seen, enum scale_place place)
{
    if (seen->made[place] > 0)
        add(&here->made[place], weir_ln(seen->made[place]));
}

/* After a step down consumers live on what lies ready: what they get then, says nothing. */
static void add_taken(struct scale_response *response, struct scale_visit *here,
                      const struct seen *seen)
{
    struct scale_shift shift;
    bool is_less =
        response->reports > 0 && (response->last.at[SCALE_POOL] > seen->size.at[SCALE_POOL] ||
                                  response->last.at[SCALE_HOST] > seen->size.at[SCALE_HOST]);
    if (is_less)
        return;
    if (here->taken.count > 0)
        preprocess_watch_add(&response->taken, seen->taken - here->taken.ln, here->taken.count,
                             &shift);
    else
        preprocess_watch_pause(&response->taken);
    add(&here->taken, seen->taken);
}

enum scale_news preprocess_response_add(struct scale_response *response,
                                        const struct scale_report *report)
{
    struct seen seen;
    if (!see(report, &seen))
        return SCALE_NOTHING;
    struct scale_visit *here = visit_of(response, &seen.size);
    bool own_is_new = watch_own(response, here, &seen);
    bool made_is_new = watch_made(response, here, &seen);
    if (!own_is_new)
        add(&here->own, seen.own);
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++) {
        if (!made_is_new || place != seen.main)
            add_made(here, &seen, place);
    }
    add_taken(response, here, &seen);
    response->last = seen.size;
    here->newest = ++response->reports;
    return own_is_new || made_is_new ? SCALE_CHANGED : SCALE_MORE;
}

double preprocess_response_error(const struct scale_response *response)
{
    double made = 0, own = 0;
    for (size_t i = 0; i < response->count; i++) {
        const struct scale_visit *visit = &response->visits[i];
        made += fmax(visit->made[SCALE_POOL].count, visit->made[SCALE_HOST].count);
        own += visit->own.count;
    }
    double of_made = mean_spread(&response->made, made), of_own = mean_spread(&response->own, own);
    return sqrt(of_made * of_made + of_own * of_own);
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
        const struct scale_mean *made = &visit->made[place];
        struct scale_mean reach = reach_of(response, visit);
        double error = mean_spread(&response->made, made->count);
        if (reach.count > 0)
            error = fmax(error, mean_spread(&response->taken, reach.count));
        if (visit->size.at[place] > 0 && made->count > 0)
            put(&curve, visit->size.at[place], made->ln + reach.ln, 1 / (error * error));
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
        if (visit->own.count > 0)
            put(&own, visit->size.at[SCALE_HOST], weir_exp(visit->own.ln), visit->own.count);
    }
    if (pool.count + host.count == 0 || own.count == 0)
        return false;
    ret_forecast->max =
        (struct scale_size){{table_max(max->at[SCALE_POOL]), table_max(max->at[SCALE_HOST])}};
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
