/* The list of everything that /metrics tells (measures.def). */
#ifndef ORCHESTRATOR_MONITORING_MEASURES_H
#define ORCHESTRATOR_MONITORING_MEASURES_H

#include "core/base/bytes.h"

enum { MEASURE_LABELS_MAX = 3 };

enum measure_kind { MEASURE_COUNTER, MEASURE_GAUGE };

enum measure {
#define MEASURE(id, ...) MEASURE_##id,
#include "orchestrator/monitoring/measures.def"
#undef MEASURE
    MEASURES
};

struct measure_about {
    const char *name;
    enum measure_kind kind;
    const char *labels[MEASURE_LABELS_MAX]; /* NULL: no more */
    const char *help;
};
extern const struct measure_about ORCHESTRATOR_MEASURES[MEASURES];

const char *orchestrator_measure_kind_name(enum measure_kind kind); /* "counter" */
/* Appends the reference page. */
void orchestrator_measures_describe(struct weir_buf *out);

#endif
