/* The list as a table, and as a page for people. */
#include "orchestrator/monitoring/measures.h"

#define LABELS(...) \
    {               \
        __VA_ARGS__ \
    }
#define NO_LABELS \
    {             \
        NULL      \
    }
#define COUNTER MEASURE_COUNTER
#define GAUGE   MEASURE_GAUGE

const struct measure_about ORCHESTRATOR_MEASURES[MEASURES] = {
#define MEASURE(id, ...) [MEASURE_##id] = {__VA_ARGS__},
#include "orchestrator/monitoring/measures.def"
#undef MEASURE
};

const char *orchestrator_measure_kind_name(enum measure_kind kind)
{
    return kind == MEASURE_COUNTER ? "counter" : "gauge";
}

static void describe(const struct measure_about *about, struct weir_buf *out)
{
    weir_buf_printf(out, "| `%s` | %s | ", about->name,
                    orchestrator_measure_kind_name(about->kind));
    for (size_t i = 0; i < MEASURE_LABELS_MAX && about->labels[i] != NULL; i++)
        weir_buf_printf(out, "%s`%s`", i > 0 ? " " : "", about->labels[i]);
    weir_buf_printf(out, " | %s |\n", about->help);
}

void orchestrator_measures_describe(struct weir_buf *out)
{
    weir_buf_append_text(
        out,
        "# The metrics endpoint\n\n"
        "The names at `/metrics` ([guide](../guides/watch-with-prometheus.md)), in the text "
        "format 0.0.4 of Prometheus. Generated from `orchestrator/monitoring/measures.def`.\n\n"
        "| name | type | labels | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < MEASURES; i++)
        describe(&ORCHESTRATOR_MEASURES[i], out);
}
