/* Measurements as Cachew's client takes them. A report is taken to be even: where some of its batches are discarded,
 * so is as large a part of its span. */
#include "preprocess/scale/history.h"

#include "core/base/require.h"
#include "preprocess/scale/bounds.h"

#include <string.h>

/* Returns the batches of the slowest consumer that took any. */
static double taken_in(const struct scale_report *report)
{
    double fewest = 0;
    for (size_t i = 0; i < report->taker_count; i++) {
        double batches = report->takers[i].batches;
        if (batches > 0 && (fewest <= 0 || batches < fewest))
            fewest = batches;
    }
    return fewest;
}

static double queued_in(const struct scale_report *report)
{
    double queued = 0;
    for (size_t i = 0; i < report->taker_count; i++)
        queued += report->takers[i].queued;
    return report->taker_count > 0 ? queued / (double)report->taker_count : 0;
}

static void start_over(struct scale_history *history, const struct scale_size *workers,
                       uint64_t discard)
{
    history->workers = *workers;
    history->discard = (double)discard;
    history->batches = history->span_s = history->queued_s = 0;
    history->is_begun = true;
}

static void keep_measurement(struct scale_history *history)
{
    const struct scale_measurement newest = {
        .workers = history->workers,
        .batch_s = history->span_s / history->batches,
        .queued = history->queued_s / history->span_s,
    };
    if (history->count == SCALE_HISTORY_KEPT) {
        history->count--;
        memmove(history->kept, history->kept + 1, history->count * sizeof(*history->kept));
    }
    history->kept[history->count++] = newest;
    history->batches = history->span_s = history->queued_s = 0;
}

static void gather(struct scale_history *history, const struct scale_report *report)
{
    double batches = taken_in(report);
    double discarded = batches < history->discard ? batches : history->discard;
    double span_s = batches > 0 ? report->span_s * (batches - discarded) / batches : 0;
    history->discard -= discarded;
    history->batches += batches - discarded;
    history->span_s += span_s;
    history->queued_s += queued_in(report) * span_s;
}

bool preprocess_scale_history_add(struct scale_history *history,
                                  const struct scale_measuring *measuring,
                                  const struct scale_report *report)
{
    static const struct scale_size NONE;
    struct scale_size workers;
    memcpy(workers.at, report->workers, sizeof(workers.at));
    if (preprocess_scale_is_same(&workers, &NONE))
        return false;
    if (!history->is_begun)
        start_over(history, &workers, measuring->discard_start);
    else if (!preprocess_scale_is_same(&workers, &history->workers))
        start_over(history, &workers, measuring->discard_change);
    gather(history, report);
    bool is_complete = history->span_s > 0 && history->batches >= (double)measuring->batches;
    if (is_complete)
        keep_measurement(history);
    return is_complete;
}

const struct scale_measurement *preprocess_scale_history_newest(const struct scale_history *history)
{
    weir_require(history->count > 0);
    return &history->kept[history->count - 1];
}

const struct scale_measurement *preprocess_scale_history_other(const struct scale_history *history)
{
    const struct scale_size *newest = &preprocess_scale_history_newest(history)->workers;
    for (size_t i = history->count - 1; i > 0; i--) {
        if (!preprocess_scale_is_same(&history->kept[i - 1].workers, newest))
            return &history->kept[i - 1];
    }
    return NULL;
}

double preprocess_scale_history_gain(const struct scale_history *history,
                                     const struct scale_measurement *before)
{
    return 1 - preprocess_scale_history_newest(history)->batch_s / before->batch_s;
}
