/* Rates of a job out of one report. */
#include "preprocess/scale/rates.h"

/* Share of its time that a consumer has for itself at least: one that always waits takes what it gets at once. */
static const double OWN_MIN = 0.001;

/* Of the time that it did not wait: what it takes is not what it could take. */
static double rate_of(const struct scale_taker *taker, double span_s)
{
    double own_s = span_s - taker->wait_s, least_s = span_s * OWN_MIN;
    if (span_s <= 0)
        return 0;
    return taker->batches / (own_s > least_s ? own_s : least_s);
}

double preprocess_scale_wanted(const struct scale_report *report)
{
    double wanted = 0;
    for (size_t i = 0; i < report->taker_count; i++)
        wanted += rate_of(&report->takers[i], report->span_s);
    return wanted;
}

double preprocess_scale_made(const struct scale_report *report, enum scale_place place)
{
    double batches = 0, busy_s = 0;
    for (size_t i = 0; i < report->maker_count; i++) {
        if (report->makers[i].place != place)
            continue;
        batches += report->makers[i].batches;
        busy_s += report->makers[i].busy_s;
    }
    return busy_s > 0 ? batches / busy_s : 0;
}

double preprocess_scale_batch_s(const struct scale_report *report)
{
    double slowest = 0;
    for (size_t i = 0; i < report->taker_count; i++) {
        double batches = report->takers[i].batches;
        double batch_s = batches > 0 ? report->span_s / batches : 0;
        slowest = batch_s > slowest ? batch_s : slowest;
    }
    return slowest;
}
