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

double preprocess_scale_taken(const struct scale_report *report)
{
    double batches = 0;
    for (size_t i = 0; i < report->taker_count; i++)
        batches += report->takers[i].batches;
    return batches;
}

double preprocess_scale_waited_s(const struct scale_report *report)
{
    double waited_s = 0;
    for (size_t i = 0; i < report->taker_count; i++)
        waited_s += report->takers[i].wait_s;
    return waited_s;
}

double preprocess_scale_stall(const struct scale_report *report)
{
    if (report->span_s <= 0 || report->taker_count == 0)
        return 0;
    return preprocess_scale_waited_s(report) / report->span_s / (double)report->taker_count;
}
