/* The criteria there are, and one at work: its options and what it remembers. */
#include "orchestrator/drift/criterion.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CRITERIA(X) X(threshold) X(p_value) X(quantile) X(rolling_average)

#define X(name) extern const struct criterion_kind criterion_##name;
CRITERIA(X)
#undef X

static const struct criterion_kind *const KINDS[] = {
#define X(name) &criterion_##name,
    CRITERIA(X)
#undef X
};

static const char *const NAMES[] = {
#define X(name) #name,
    CRITERIA(X)
#undef X
        NULL,
};

struct criterion {
    const struct criterion_kind *kind;
    void *options;
    size_t window; /* values it remembers at most */
    size_t count;
    double *past; /* `window` of them, oldest first, more is worse */
};

static const struct criterion_kind *find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(KINDS); i++)
        if (weir_str_equal(KINDS[i]->name, name))
            return KINDS[i];
    return NULL;
}

size_t orchestrator_criterion_count(void)
{
    return WEIR_COUNT(KINDS);
}

const struct criterion_kind *orchestrator_criterion_at(size_t index)
{
    return KINDS[index];
}

static enum weir_status find_kind(const struct weir_yaml_node *node, const char *path,
                                  const struct criterion_kind **ret_kind, struct weir_error *err)
{
    const struct weir_yaml_node *named = weir_yaml_get(node, "policy");
    const char *name = weir_yaml_text(named);
    if (name == NULL) {
        return weir_yaml_fail(
            node, err, "%s: expected a mapping such as {policy: threshold, value: 0.1}", path);
    }
    *ret_kind = find(name);
    if (*ret_kind != NULL)
        return WEIR_OK;
    WEIR_AUTO_FREE char *key = weir_format("%s.policy", path);
    return cfg_unknown(named, key, "criterion", NAMES, err);
}

enum weir_status orchestrator_criterion_open(const struct weir_yaml_node *node, const char *path,
                                             struct criterion **ret_criterion,
                                             struct weir_error *err)
{
    const struct criterion_kind *kind = NULL;
    enum weir_status status = find_kind(node, path, &kind, err);
    if (status != WEIR_OK)
        return status;
    weir_require(kind != NULL);
    WEIR_AUTO(criterion) criterion = weir_calloc(1, sizeof *criterion);
    criterion->kind = kind;
    criterion->options = weir_calloc(1, kind->options_size);
    status = cfg_read(kind->options, CFG_CLOSED, node, path, "policy", criterion->options, err);
    if (status != WEIR_OK)
        return status;
    criterion->window = kind->window == NULL ? 0 : kind->window(criterion->options);
    criterion->past = weir_calloc(criterion->window + 1, sizeof *criterion->past);
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
        memmove(criterion->past, criterion->past + 1, criterion->count * sizeof *criterion->past);
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
    if (bytes->size < size || weir_get_u64(bytes->at) > criterion->window) {
        return weir_fail(err, WEIR_INVALID,
                         "saved %s: expected %zu bytes about at most %zu values, found %zu bytes",
                         criterion->kind->name, size, criterion->window, bytes->size);
    }
    criterion->count = weir_get_u64(bytes->at);
    for (size_t i = 0; i < criterion->window; i++) {
        uint64_t bits = weir_get_u64(bytes->at + 8 * (i + 1));
        memcpy(&criterion->past[i], &bits, sizeof bits);
    }
    *bytes = weir_bytes(bytes->at + size, bytes->size - size);
    return WEIR_OK;
}
