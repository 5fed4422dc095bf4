/* The criteria there are, and one at work: its options and what it remembers. */
#include "orchestrator/drift/criterion.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CRITERIA(X) X(threshold) X(p_value) X(quantile) X(rolling_average)

#define X(name) extern const struct criterion_kind orchestrator_criterion_##name;
CRITERIA(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &orchestrator_criterion_##name.plugin,
    CRITERIA(X)
#undef X
};

const struct cfg_registry ORCHESTRATOR_CRITERIA = {
    .what = "criterion",
    .key = "policy",
    .expected = "a mapping such as {policy: threshold, value: 0.1}",
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};

struct criterion {
    const struct criterion_kind *kind;
    void *options;
    size_t window; /* values it remembers at most */
    size_t count;
    double *past; /* `window` of them, oldest first, more is worse */
};

enum weir_status orchestrator_criterion_open(const struct weir_yaml_node *node, const char *path,
                                             struct criterion **ret_criterion,
                                             struct weir_error *err)
{
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&ORCHESTRATOR_CRITERIA, NULL, node, path, &opened, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(criterion) criterion = weir_calloc(1, sizeof(*criterion));
    const struct criterion_kind *kind = (const struct criterion_kind *)opened.plugin;
    criterion->kind = kind;
    criterion->options = opened.options;
    criterion->window = kind->window == NULL ? 0 : kind->window(criterion->options);
    criterion->past = weir_calloc(criterion->window + 1, sizeof(*criterion->past));
    *ret_criterion = WEIR_TAKE(criterion);
    return WEIR_OK;
}

void orchestrator_criterion_close(struct criterion *criterion)
{
    if (criterion == NULL)
        return;
    free(criterion->options);
    free(criterion->past);
    free(criterion);
}

const struct criterion_kind *orchestrator_criterion_kind(const struct criterion *criterion)
{
    return criterion->kind;
}

void orchestrator_criterion_learn(struct criterion *criterion, const struct criterion_value *value)
{
    if (criterion->window == 0 || isnan(value->value))
        return;
    if (criterion->count == criterion->window) {
        criterion->count--;
        memmove(criterion->past, criterion->past + 1, criterion->count * sizeof(*criterion->past));
    }
    criterion->past[criterion->count++] = value->lower_is_worse ? -value->value : value->value;
}

struct criterion_verdict orchestrator_criterion_judge(struct criterion *criterion,
                                                      const struct criterion_value *value)
{
    const struct criterion_past past = {.values = criterion->past, .count = criterion->count};
    struct criterion_verdict verdict = {.limit = NAN};
    if (!isnan(value->value))
        verdict = criterion->kind->judge(criterion->options, &past, value);
    orchestrator_criterion_learn(criterion, value);
    return verdict;
}

/* ---- saved ---- */

void orchestrator_criterion_save(const struct criterion *criterion, struct weir_buf *out)
{
    weir_buf_append_u64(out, criterion->count);
    for (size_t i = 0; i < criterion->window; i++)
        weir_buf_append_f64(out, i < criterion->count ? criterion->past[i] : 0);
}

enum weir_status orchestrator_criterion_restore(struct criterion *criterion,
                                                struct weir_bytes *bytes, struct weir_error *err)
{
    size_t size = 8 * (criterion->window + 1);
    struct weir_bytes saved;
    if (bytes->size < size || weir_get_u64(bytes->at) > criterion->window ||
        !weir_take(bytes, size, &saved)) {
        return weir_fail(err, WEIR_INVALID,
                         "saved %s: expected %zu bytes about at most %zu values, found %zu bytes",
                         criterion->kind->name, size, criterion->window, bytes->size);
    }
    criterion->count = weir_get_u64(saved.at);
    for (size_t i = 0; i < criterion->window; i++)
        criterion->past[i] = weir_get_f64(saved.at + 8 * (i + 1));
    return WEIR_OK;
}
