/* The response of a job to sizes, learned from its reports: rates of workers and consumers at the sizes that were
 * visited, and from them the time of a batch at any other. Pure; no pointers, so that it may be copied.
 *
 * Rules
 *   1  A rate is all batches by all the time since it last changed, so that batches which were half done between two
 *      reports are not lost. When the consumers' rate changes, the workers' stands, and the other way round.
 *   2  A pool whose workers are equally fast at all sizes, as far as noise lets see, is linear: all reports say the
 *      rate.
 *   3  Where consumers wait, what they got is what the workers can make, whatever the workers say: the network may be
 *      what limits, or a disk.
 *   4  Of a pool that is not linear the capacity is taken to be concave. Between two sizes it is bounded by the
 *      straight lines through its neighbours, beyond the largest it goes on by Amdahl's law (AFIPS 1967): time of a
 *      batch in a worker grows as it did between the last two sizes.
 *   5  Workers on the host slow its consumers down. Between two sizes their rate is taken to be in the middle of the
 *      straight line and what a concave one could be.
 *   6  A class of workers of which nothing is known is as fast as the other one.
 *   7  Of a report in which workers came or went, and of the next one, only what the consumers do is taken in: the
 *      others live on what lies ready, or have not got going.
 *   8  A worker is no faster among more of them. Where it seems to be, the older of the two sizes was visited at a time
 *      that is over: the pool was starved then, or is now.
 *   9  Of a report in which no batch came the time counts with the next one of that size: else slow batches would seem
 *      as fast as those reports say that have one. */
#ifndef WEIR_PREPROCESS_SCALE_RESPONSE_H
#define WEIR_PREPROCESS_SCALE_RESPONSE_H

#include "preprocess/scale/policy.h"
#include "preprocess/scale/watch.h"

enum { RESPONSE_VISITS_MAX = 16 };

/* A rate or a ratio: its logarithm, and the variance of that. */
struct scale_value {
    double ln, variance;
    bool is_known;
};

/* A size that the job had. */
struct scale_visit {
    struct scale_size size;
    struct scale_tally made[SCALE_PLACES]; /* by workers, while they were busy */
    struct scale_tally own;                /* by consumers, while they did not wait */
    struct scale_tally taken;              /* by consumers */
    struct scale_value reach; /* share that was had of what workers say, when consumers waited */
    uint64_t newest;          /* number of its newest report */
};

/* Zeroed knows nothing. */
struct scale_response {
    struct scale_visit visits[RESPONSE_VISITS_MAX];
    size_t count;
    struct scale_watch own, made, taken;
    struct scale_size last;     /* of the newest report … */
    bool is_moving;             /* … and workers came or went in it */
    bool has_start;             /* the first report counts */
    struct scale_visit carried; /* of reports that say nothing by themselves (rule 9) */
    uint64_t reports;
};

enum scale_news {
    SCALE_NOTHING, /* the report says nothing that could be used */
    SCALE_MORE,    /* of the same */
    SCALE_CHANGED, /* consumers or workers are no longer as fast as they were */
};

enum scale_news preprocess_response_add(struct scale_response *response,
                                        const struct scale_report *report);
/* Returns the visit of the newest report; NULL: there was none. */
const struct scale_visit *preprocess_response_newest(const struct scale_response *response);
/* Returns the visit of a size, if it has been visited. */
const struct scale_visit *preprocess_response_visit(const struct scale_response *response,
                                                    const struct scale_size *size);
/* True when the consumers of a visit waited, beyond noise. */
bool preprocess_response_waits(const struct scale_response *response,
                               const struct scale_visit *visit);
/* Returns what consumers got at a size. */
struct scale_value preprocess_response_taken(const struct scale_response *response,
                                             const struct scale_visit *visit);
/* Returns the relative error of the need that the response foretells. */
double preprocess_response_error(const struct scale_response *response);

/* Rates by numbers of workers, from none to the bounds that the forecast is for. */
struct scale_forecast {
    struct scale_size max;
    double pool[SCALE_WORKERS_MAX + 1], host[SCALE_WORKERS_MAX + 1]; /* batches a second made */
    double own[SCALE_WORKERS_MAX + 1]; /* by the consumers, beside so many on the host */
    bool host_is_guessed;              /* rule 6 */
};
/* False: too little is known. */
bool preprocess_response_forecast(const struct scale_response *response,
                                  const struct scale_size *max,
                                  struct scale_forecast *ret_forecast);
/* Has all workers make so many times as much. */
void preprocess_forecast_scale(struct scale_forecast *forecast, double factor);
/* Returns the time of a batch with a size. */
double preprocess_forecast_batch_s(const struct scale_forecast *forecast,
                                   const struct scale_size *size);
/* Returns the workers of the pool, as a fraction, with which consumers no longer wait beside `host` workers on the
 * host; the bound, if even that does not do. */
double preprocess_forecast_need(const struct scale_forecast *forecast, uint32_t host);

#endif
