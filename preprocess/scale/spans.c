/* See spans.h. */
#include "preprocess/scale/spans.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

void preprocess_spans_fini(struct spans *spans)
{
    free(spans->makers);
    free(spans->takers);
    free(spans->made);
    free(spans->took);
    *spans = (struct spans){0};
}

/* ---- the span ---- */

static void forget_silent(struct spans *spans, int64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < spans->maker_count; i++) {
        if (now_ms - spans->makers[i].newest.at_ms < SPANS_FORGET_MS)
            spans->makers[kept++] = spans->makers[i];
    }
    spans->maker_count = kept;
}

/* The next span goes on where the counters are. */
static void begin(struct spans *spans, int64_t at_ms, int64_t now_ms)
{
    spans->begun_ms = at_ms;
    forget_silent(spans, now_ms);
    for (size_t i = 0; i < spans->maker_count; i++)
        spans->makers[i].begun = spans->makers[i].newest;
    for (size_t i = 0; i < spans->taker_count; i++) {
        struct spans_taker *taker = &spans->takers[i];
        taker->begun = taker->newest;
        taker->queued = 0;
        taker->beats = 0;
    }
}

/* Counters that grow, of one session. */
static bool goes_on(const struct spans_counters *before, const struct spans_counters *now)
{
    return before->session == now->session && now->batches >= before->batches &&
           now->ns >= before->ns;
}

/* ---- beats ---- */

/* Makers are in the order of their sessions: a crew of hundreds beats a few times a second, for each of its jobs. */
static struct spans_maker *maker_of(struct spans *spans, uint64_t session)
{
    size_t low = 0, high = spans->maker_count;
    WEIR_BISECT(low, high, at, spans->makers[at].newest.session < session);
    if (low < spans->maker_count && spans->makers[low].newest.session == session)
        return &spans->makers[low];
    spans->makers = weir_grow(spans->makers, spans->maker_count, &spans->maker_capacity,
                              sizeof(*spans->makers));
    struct spans_maker *maker = &spans->makers[low];
    memmove(maker + 1, maker, (spans->maker_count++ - low) * sizeof(*maker));
    *maker = (struct spans_maker){0}; /* until its counters are noted */
    return maker;
}

/* Before the span begins, its beginning moves along. */
static void note(const struct spans *spans, struct spans_counters *begun,
                 struct spans_counters *newest, const struct spans_counters *counters)
{
    bool is_within = counters->at_ms >= spans->begun_ms && goes_on(newest, counters);
    *newest = *counters;
    if (!is_within)
        *begun = *counters;
}

void preprocess_spans_make(struct spans *spans, enum scale_place place,
                           const struct spans_counters *counters)
{
    struct spans_maker *maker = maker_of(spans, counters->session);
    maker->place = place;
    note(spans, &maker->begun, &maker->newest, counters);
}

void preprocess_spans_take(struct spans *spans, uint32_t rank,
                           const struct spans_counters *counters, double queued)
{
    while (spans->taker_count <= rank) {
        spans->takers = weir_grow(spans->takers, spans->taker_count, &spans->taker_capacity,
                                  sizeof(*spans->takers));
        spans->takers[spans->taker_count++] = (struct spans_taker){0};
    }
    struct spans_taker *taker = &spans->takers[rank];
    bool begins_again = taker->newest.session != 0 && !goes_on(&taker->newest, counters);
    note(spans, &taker->begun, &taker->newest, counters);
    if (begins_again)
        begin(spans, counters->at_ms, counters->at_ms);
    if (counters->at_ms < spans->begun_ms)
        return;
    taker->queued += queued;
    taker->beats++;
}

static bool are_equal(const struct spans_workers *a, const struct spans_workers *b)
{
    bool is_same = a->sessions == b->sessions;
    for (size_t place = 0; place < SCALE_PLACES; place++)
        is_same &= a->at[place] == b->at[place];
    return is_same;
}

void preprocess_spans_serve(struct spans *spans, const struct spans_workers *workers,
                            int64_t now_ms)
{
    if (are_equal(&spans->workers, workers))
        return;
    spans->workers = *workers;
    if (spans->thrown >= SPANS_THROWN_MAX)
        return;
    spans->thrown++;
    begin(spans, now_ms + SPANS_SETTLE_MS, now_ms);
}

void preprocess_spans_hold(struct spans *spans, bool lags, int64_t now_ms)
{
    if (!lags)
        spans->held_ms = 0;
    else if (spans->held_ms == 0)
        spans->held_ms = now_ms;
    if (lags && now_ms - spans->held_ms < SPANS_HELD_MS)
        begin(spans, now_ms > spans->begun_ms ? now_ms : spans->begun_ms, now_ms);
}

/* ---- reports ---- */

static int64_t span_ms(const struct spans_counters *begun, const struct spans_counters *newest)
{
    return newest->at_ms - begun->at_ms;
}

static uint64_t batches_of(const struct spans_counters *begun, const struct spans_counters *newest)
{
    return newest->batches - begun->batches;
}

/* Rule 5. */
static bool is_whole(const struct spans *spans)
{
    bool is_served = false, is_heard = spans->taker_count > 0;
    for (size_t place = 0; place < SCALE_PLACES; place++)
        is_served |= spans->workers.at[place] > 0;
    for (size_t i = 0; i < spans->taker_count; i++)
        is_heard &= span_ms(&spans->takers[i].begun, &spans->takers[i].newest) > 0;
    return is_served && is_heard;
}

static bool is_due(const struct spans *spans, int64_t now_ms)
{
    uint64_t consumed = 0;
    for (size_t i = 0; i < spans->taker_count; i++) {
        uint64_t batches = batches_of(&spans->takers[i].begun, &spans->takers[i].newest);
        consumed = batches > consumed ? batches : consumed;
    }
    int64_t passed_ms = now_ms - spans->begun_ms;
    return passed_ms >= SPANS_MS || (passed_ms >= SPANS_LEAST_MS && consumed >= SPANS_BATCHES);
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static size_t list_makers(struct spans *spans, int64_t passed_ms)
{
    size_t count = 0;
    while (spans->made_capacity < spans->maker_count)
        spans->made = weir_grow(spans->made, spans->made_capacity, &spans->made_capacity,
                                sizeof(*spans->made));
    for (size_t i = 0; i < spans->maker_count; i++) {
        const struct spans_maker *maker = &spans->makers[i];
        int64_t its_ms = span_ms(&maker->begun, &maker->newest);
        if (its_ms <= 0)
            continue;
        double part = (double)passed_ms / (double)its_ms;
        spans->made[count++] = (struct scale_maker){
            .place = maker->place,
            .batches = part * (double)batches_of(&maker->begun, &maker->newest),
            .busy_s = part * seconds(maker->newest.ns - maker->begun.ns),
        };
    }
    return count;
}

static size_t list_takers(struct spans *spans, int64_t passed_ms)
{
    while (spans->took_capacity < spans->taker_count)
        spans->took = weir_grow(spans->took, spans->took_capacity, &spans->took_capacity,
                                sizeof(*spans->took));
    for (size_t i = 0; i < spans->taker_count; i++) {
        const struct spans_taker *taker = &spans->takers[i];
        double part = (double)passed_ms / (double)span_ms(&taker->begun, &taker->newest);
        double wait_s = part * seconds(taker->newest.ns - taker->begun.ns);
        double span_s = (double)passed_ms / 1e3;
        spans->took[i] = (struct scale_taker){
            .batches = part * (double)batches_of(&taker->begun, &taker->newest),
            .wait_s = wait_s < span_s ? wait_s : span_s,
            .queued = taker->beats > 0 ? taker->queued / taker->beats : 0,
        };
    }
    return spans->taker_count;
}

bool preprocess_spans_end(struct spans *spans, int64_t now_ms, struct scale_report *ret_report)
{
    int64_t passed_ms = now_ms - spans->begun_ms;
    if (!is_due(spans, now_ms))
        return false;
    bool is_report = is_whole(spans);
    if (is_report) {
        *ret_report = (struct scale_report){
            .span_s = (double)passed_ms / 1e3,
            .maker_count = list_makers(spans, passed_ms),
            .taker_count = list_takers(spans, passed_ms),
        };
        ret_report->makers = spans->made;
        ret_report->takers = spans->took;
        for (size_t place = 0; place < SCALE_PLACES; place++)
            ret_report->workers[place] = spans->workers.at[place];
        spans->thrown = 0;
    }
    begin(spans, now_ms, now_ms);
    return is_report;
}
