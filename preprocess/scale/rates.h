/* Rates of a job out of one report: batches a second that a worker makes while it has work, and that the consumers take
 * while they have batches. */
#ifndef WEIR_PREPROCESS_SCALE_RATES_H
#define WEIR_PREPROCESS_SCALE_RATES_H

#include "preprocess/scale/report.h"

/* Returns the batches a second that all consumers together would take if they never waited; 0: nothing was taken. */
double preprocess_scale_wanted(const struct scale_report *report);
/* Returns the batches a second that one worker of the place makes, on average, while it is busy; 0: none was made. */
double preprocess_scale_made(const struct scale_report *report, enum scale_place place);
/* Return the batches that all consumers together took, and the seconds that they waited. */
double preprocess_scale_taken(const struct scale_report *report);
double preprocess_scale_waited_s(const struct scale_report *report);
/* Returns the share of their time that consumers waited, on average; 0: no time has passed, or there is none. */
double preprocess_scale_stall(const struct scale_report *report);

#endif
