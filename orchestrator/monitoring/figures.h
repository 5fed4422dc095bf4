/* Values of measures at one moment, and the page that they make. Pure. */
#ifndef ORCHESTRATOR_MONITORING_FIGURES_H
#define ORCHESTRATOR_MONITORING_FIGURES_H

#include "core/base/attributes.h"
#include "orchestrator/monitoring/measures.h"

enum { FIGURES_MAX = 20000 /* of a page */ };

struct figures;

struct figures *orchestrator_figures_new(void);
void orchestrator_figures_free(struct figures *figures);
WEIR_DEFINE_AUTO(figures, orchestrator_figures_free)

/* FIGURE(figures, runs, 3, "mails", "done"): a value for each label of the measure, copied; NULL for a measure without
 * labels. What is more than FIGURES_MAX is counted, and left out. */
#define FIGURE(figures, id, value, ...)                                \
    orchestrator_figures_add((figures), MEASURE_##id, (double)(value), \
                             (const char *const[MEASURE_LABELS_MAX]){__VA_ARGS__})
void orchestrator_figures_add(struct figures *figures, enum measure measure, double value,
                              const char *const labels[MEASURE_LABELS_MAX]);

/* Appends the figures of several lists in the text format 0.0.4 of Prometheus: measures in the order of the list, each
 * with the values of its labels in their order. Of two figures with equal labels the first one is kept. */
void orchestrator_figures_print(const struct figures *const *lists, size_t count,
                                struct weir_buf *out);

#endif
