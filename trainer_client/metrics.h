/* Numbers that a loop says of its run, by name: the newest of each. Owned by: struct weir_client, under its mutex. */
#ifndef WEIR_TRAINER_CLIENT_METRICS_H
#define WEIR_TRAINER_CLIENT_METRICS_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <weir/client.h>

/* Zero-initialised is empty. */
struct metrics {
    struct metric {
        char name[WEIR_METRIC_NAME_MAX + 1];
        double value;
    } at[WEIR_METRICS_MAX];
    size_t count;
};

/* INVALID for a name or value that is none, LIMIT for one name too many. */
enum weir_status trainer_metrics_set(struct metrics *metrics, const char *name, double value,
                                     struct weir_error *err) WEIR_MUST_USE;
/* The newest value; 0 when nothing was said. */
double trainer_metrics_get(const struct metrics *metrics, const char *name);
/* Appends {"loss": 0.25, …}. */
void trainer_metrics_print(const struct metrics *metrics, struct weir_buf *out);

#endif
