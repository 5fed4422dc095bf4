/* Keeping the newest number of each name: see metrics.h. */
#include "trainer_client/metrics.h"

#include <math.h>
#include <string.h>

static bool is_name(const char *name)
{
    static const char LETTERS[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    size_t size = strlen(name);

    return size > 0 && size <= WEIR_METRIC_NAME_MAX && strspn(name, LETTERS) == size;
}

static size_t place_of(const struct metrics *metrics, const char *name)
{
    size_t at = 0;

    while (at < metrics->count && strcmp(metrics->at[at].name, name) != 0)
        at++;
    return at;
}

enum weir_status trainer_metrics_set(struct metrics *metrics, const char *name, double value,
                                     struct weir_error *err)
{
    size_t at = place_of(metrics, name);

    if (!is_name(name))
        return weir_fail(err, WEIR_INVALID,
                         "metric '%.80s': expected 1 to %d letters, digits, and _ . / -", name,
                         WEIR_METRIC_NAME_MAX);
    if (!isfinite(value))
        return weir_fail(err, WEIR_INVALID, "metric %s: found %f, expected a number", name, value);
    if (at == WEIR_METRICS_MAX)
        return weir_fail(err, WEIR_LIMIT, "metric %s: expected at most %d names", name,
                         WEIR_METRICS_MAX);
    if (at == metrics->count)
        memcpy(metrics->at[metrics->count++].name, name, strlen(name) + 1);
    metrics->at[at].value = value;
    return WEIR_OK;
}

double trainer_metrics_get(const struct metrics *metrics, const char *name)
{
    size_t at = place_of(metrics, name);

    return at < metrics->count ? metrics->at[at].value : 0.0;
}

void trainer_metrics_print(const struct metrics *metrics, struct weir_buf *out)
{
    weir_buf_append_text(out, "{");
    for (size_t i = 0; i < metrics->count; i++)
        weir_buf_printf(out, "%s\"%s\": %.17g", i > 0 ? ", " : "", metrics->at[i].name,
                        metrics->at[i].value);
    weir_buf_append_text(out, "}");
}
