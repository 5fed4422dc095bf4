/* A length of event time that may be a calendar one ("1 month"), and the grid it lays over time:
 * months start on the first day at midnight UTC, weeks on Monday, everything else at multiples
 * since 1970. A fixed grid, rather than one that starts at the first sample, gives the same slices
 * to every model and every dataset. */
#ifndef ORCHESTRATOR_VALUES_PERIOD_H
#define ORCHESTRATOR_VALUES_PERIOD_H

#include "core/base/error.h"
#include "core/config/yaml.h"

#include <stdint.h>

/* Exactly one of the first two is positive. */
struct orchestrator_period {
    int64_t months;
    int64_t us;
    int64_t at_us; /* the grid lies so much later: below a day */
};

/* "1 month", "3 months", "1 year", "1d", "12h"; of whole days, weeks or months also "1d at 03:00". INVALID
 * otherwise. */
enum weir_status orchestrator_period_parse(const char *text, struct orchestrator_period *ret_period,
                                           struct weir_error *err) WEIR_MUST_USE;
/* The same, for a key of that path. INVALID "PLACE: KEY: …". */
enum weir_status orchestrator_period_read(const struct weir_yaml_node *node, const char *key,
                                          const char *text, struct orchestrator_period *ret_period,
                                          struct weir_error *err) WEIR_MUST_USE;

/* Reads `text` as a time, for a key of that path; NULL leaves the fallback. INVALID "PLACE: KEY: …". */
enum weir_status orchestrator_moment_read(const struct weir_yaml_node *node, const char *key,
                                          const char *text, int64_t *time_us,
                                          struct weir_error *err) WEIR_MUST_USE;

/* The first boundary of the grid strictly after `time_us`. */
int64_t orchestrator_period_next(const struct orchestrator_period *period, int64_t time_us);
/* Number of boundaries from `from_us` to `to_us`, both included. */
uint64_t orchestrator_period_count(const struct orchestrator_period *period, int64_t from_us,
                                   int64_t to_us);
/* `boundary_us`, a boundary, moved by one period. */
int64_t orchestrator_period_after(const struct orchestrator_period *period, int64_t boundary_us);

#endif
