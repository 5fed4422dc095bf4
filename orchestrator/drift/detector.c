/* The detectors there are, and one at work. */
#include "orchestrator/drift/detector.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DETECTORS(X) X(ddm) X(eddm) X(adwin) X(page_hinkley) X(kswin)

#define X(name) extern const struct detector_kind orchestrator_detector_##name;
DETECTORS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &orchestrator_detector_##name.plugin,
    DETECTORS(X)
#undef X
};

const struct cfg_registry ORCHESTRATOR_DETECTORS = {
    .what = "detector",
    .key = "policy",
    .expected = "a detector such as adwin",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};

struct detector {
    const struct detector_kind *kind;
    void *options;
    size_t words;
    uint64_t *state;
};

enum weir_status orchestrator_detector_open(const struct weir_yaml_node *node, const char *path,
                                            struct detector **ret_detector, struct weir_error *err)
{
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&ORCHESTRATOR_DETECTORS, NULL, node, path, &opened, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(detector) detector = weir_calloc(1, sizeof(*detector));
    const struct detector_kind *kind = (const struct detector_kind *)opened.plugin;
    detector->kind = kind;
    detector->options = opened.options;
    const char *complaint = kind->complaint == NULL ? "" : kind->complaint(detector->options);
    if (complaint[0] != '\0')
        return weir_yaml_fail(node, err, "%s: %s: %s", path, kind->name, complaint);
    detector->words = kind->words(detector->options);
    detector->state = weir_calloc(detector->words, sizeof(*detector->state));
    *ret_detector = WEIR_TAKE(detector);
    return WEIR_OK;
}

void orchestrator_detector_close(struct detector *detector)
{
    if (detector == NULL)
        return;
    free(detector->options);
    free(detector->state);
    free(detector);
}

const struct detector_kind *orchestrator_detector_kind(const struct detector *detector)
{
    return detector->kind;
}

enum detector_verdict orchestrator_detector_take(struct detector *detector, double value,
                                                 struct detector_seen *ret_seen)
{
    struct detector_seen seen = {.base = NAN, .found = NAN, .limit = NAN, .warning = NAN};
    if (!isfinite(value))
        return DETECTOR_STABLE;
    enum detector_verdict verdict =
        detector->kind->take(detector->options, detector->state, value, &seen);
    if (ret_seen != NULL && !isnan(seen.found))
        *ret_seen = seen;
    return verdict;
}

void orchestrator_detector_explain(const struct detector_kind *kind, enum detector_verdict verdict,
                                   const struct detector_seen *seen, struct weir_buf *out)
{
    weir_buf_printf(out, "%s: ", kind->name);
    if (seen->values == 0) {
        weir_buf_append_text(out, "too few values to compare");
        return;
    }
    weir_buf_printf(out, "%s %.4g", kind->found, seen->found);
    if (verdict == DETECTOR_CHANGE)
        weir_buf_printf(out, " %c %.4g (", kind->below ? '<' : '>', seen->limit);
    else
        weir_buf_printf(out, " (limit %.4g, ", seen->limit);
    weir_buf_printf(out, "%s %.4g", kind->base, seen->base);
    if (!isnan(seen->warning))
        weir_buf_printf(out, ", warning at %.4g", seen->warning);
    weir_buf_printf(out, ", %llu values)", (unsigned long long)seen->values);
}

void orchestrator_detector_forget(struct detector *detector)
{
    memset(detector->state, 0, detector->words * sizeof(*detector->state));
}

void orchestrator_detector_save(const struct detector *detector, struct weir_buf *out)
{
    for (size_t i = 0; i < detector->words; i++)
        weir_buf_append_u64(out, detector->state[i]);
}

enum weir_status orchestrator_detector_restore(struct detector *detector, struct weir_bytes *bytes,
                                               struct weir_error *err)
{
    size_t size = 8 * detector->words;
    struct weir_bytes saved;
    if (!weir_take(bytes, size, &saved))
        return weir_fail(err, WEIR_INVALID, "saved %s: expected %zu bytes, found %zu",
                         detector->kind->name, size, bytes->size);
    for (size_t i = 0; i < detector->words; i++)
        detector->state[i] = weir_get_u64(saved.at + 8 * i);
    return WEIR_OK;
}
