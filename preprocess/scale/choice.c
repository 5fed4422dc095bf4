/* See choice.h. */
#include "preprocess/scale/choice.h"

#include "preprocess/scale/bounds.h"

#include <math.h>

/* Of a trainer's, where no prices are given; one on its host only takes up room. */
static const double WORKER_PRICE = 0.02, HOST_PRICE = 0.001;
enum { BATCHES = 1000 };

static bool is_priced(const struct scale_setting *setting)
{
    return setting->trainer_hour > 0;
}

double preprocess_choice_hour(const struct scale_setting *setting, const struct scale_size *size)
{
    double pool = size->at[SCALE_POOL], host = size->at[SCALE_HOST];
    if (!is_priced(setting))
        return 1 + WORKER_PRICE * pool + HOST_PRICE * host;
    return setting->trainer_hour + setting->worker_hour[SCALE_POOL] * pool +
           setting->worker_hour[SCALE_HOST] * host;
}

double preprocess_choice_price(const struct scale_setting *setting,
                               const struct scale_forecast *forecast, const struct scale_size *size)
{
    return preprocess_choice_hour(setting, size) * preprocess_forecast_batch_s(forecast, size);
}

struct scale_size preprocess_choice_best(const struct scale_setting *setting,
                                         const struct scale_forecast *forecast)
{
    struct scale_size best = preprocess_scale_within(setting, &(struct scale_size){0});
    struct scale_size size;
    double least = INFINITY;
    for (uint32_t host = setting->min.at[SCALE_HOST]; host <= forecast->max.at[SCALE_HOST];
         host++) {
        for (uint32_t pool = setting->min.at[SCALE_POOL]; pool <= forecast->max.at[SCALE_POOL];
             pool++) {
            size = (struct scale_size){{pool, host}};
            double price = preprocess_choice_price(setting, forecast, &size);
            if (price < least) {
                least = price;
                best = size;
            }
        }
    }
    return best;
}

void preprocess_choice_note(const struct scale_setting *setting,
                            const struct scale_forecast *forecast, const struct scale_size *size,
                            struct scale_decision *decision)
{
    struct scale_size kept = preprocess_scale_within(setting, size);
    for (size_t i = 0; i < decision->option_count; i++) {
        if (preprocess_scale_is_same(&decision->options[i].size, &kept))
            return;
    }
    if (decision->option_count == SCALE_OPTIONS_MAX ||
        kept.at[SCALE_POOL] > forecast->max.at[SCALE_POOL] ||
        kept.at[SCALE_HOST] > forecast->max.at[SCALE_HOST])
        return;
    double batch_s = preprocess_forecast_batch_s(forecast, &kept);
    double hour = preprocess_choice_hour(setting, &kept);
    decision->options[decision->option_count++] = (struct scale_option){
        .size = kept,
        .batch_s = batch_s,
        .money = is_priced(setting) ? hour / 3600 * batch_s * BATCHES : 0,
    };
}
