/* The samples that the model got wrong, in their order, for each detector. */
#include "orchestrator/triggers/mistakes.h"

#include "core/base/number.h"
#include "core/loop/work.h"

#include "orchestrator/metrics/classes.h"
#include "orchestrator/triggers/points.h"
#include "orchestrator/values/json_number.h"
#include "orchestrator/values/json_object.h"

#include <stdlib.h>

enum weir_status orchestrator_mistakes_init(struct mistakes *mistakes,
                                            const struct weir_yaml_node *list, const char *path,
                                            struct weir_error *err)
{
    size_t count = weir_yaml_length(list);
    if (count > MISTAKES_DETECTORS_MAX) {
        return weir_yaml_fail(list, err, "%s: expected at most %d, found %zu", path,
                              MISTAKES_DETECTORS_MAX, count);
    }
    for (size_t i = 0; i < count; i++) {
        enum weir_status status =
            orchestrator_detector_open(weir_yaml_at(list, i), path, &mistakes->detectors[i], err);
        if (status != WEIR_OK)
            return status;
        mistakes->count = i + 1;
    }
    return WEIR_OK;
}

void orchestrator_mistakes_fini(struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++)
        orchestrator_detector_close(mistakes->detectors[i]);
}

/* The worst that the detector says while it takes them, with the numbers of it: a change stays one, though it then
 * begins again. */
static enum detector_verdict follow(struct detector *detector, const struct metric_input *input,
                                    const uint64_t *ids, const struct window *window,
                                    struct detector_seen *ret_seen)
{
    enum detector_verdict worst = DETECTOR_STABLE;
    for (size_t i = 0; i < window->count && weir_work_goes_on(input->work, 0, 0); i++) {
        const uint64_t *found =
            bsearch(&window->at[i].id, ids, input->count, sizeof(*ids), weir_order_u64);
        if (found == NULL)
            continue;
        struct detector_seen seen = *ret_seen;
        size_t row = (size_t)(found - ids);
        bool wrong = orchestrator_class_said(input, row) != input->labels[row];
        enum detector_verdict verdict = orchestrator_detector_take(detector, wrong ? 1 : 0, &seen);
        *ret_seen = verdict >= worst ? seen : *ret_seen;
        worst = verdict > worst ? verdict : worst;
    }
    return worst;
}

static json_t *said_json(const struct detector_kind *kind, enum detector_verdict verdict,
                         const struct detector_seen *seen)
{
    static const char *const VERDICTS[] = {"stable", "warning", "change"};
    return JSON_FIELDS(JSON_TEXT("detector", kind->name), JSON_TEXT("verdict", VERDICTS[verdict]),
                       JSON_TEXT("compares", kind->found),
                       JSON_NEW("found", orchestrator_json_number(seen->found)),
                       JSON_NEW("limit", orchestrator_json_number(seen->limit)),
                       JSON_NEW("warning", orchestrator_json_number(seen->warning)),
                       JSON_TEXT("with", kind->base),
                       JSON_NEW("base", orchestrator_json_number(seen->base)),
                       JSON_NUMBER("values", seen->values));
}

bool orchestrator_mistakes_take(struct mistakes *mistakes, const struct trigger_points *points,
                                const struct window *window, json_t *ret_detectors,
                                struct weir_buf *ret_text)
{
    const struct metric_input input = orchestrator_trigger_points_input(points);
    bool changed = false;
    for (size_t i = 0; i < mistakes->count; i++) {
        const struct detector_kind *kind = orchestrator_detector_kind(mistakes->detectors[i]);
        struct detector_seen seen = {.base = NAN, .found = NAN, .limit = NAN, .warning = NAN};
        enum detector_verdict verdict =
            follow(mistakes->detectors[i], &input, points->ids, window, &seen);
        json_array_append_new(ret_detectors, said_json(kind, verdict, &seen));
        weir_buf_append_text(ret_text, i > 0 ? ", " : "");
        orchestrator_detector_explain(kind, verdict, &seen, ret_text);
        changed = changed || verdict == DETECTOR_CHANGE;
    }
    return changed;
}

void orchestrator_mistakes_forget(struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++)
        orchestrator_detector_forget(mistakes->detectors[i]);
}

void orchestrator_mistakes_save(const struct mistakes *mistakes, struct weir_buf *out)
{
    for (size_t i = 0; i < mistakes->count; i++)
        orchestrator_detector_save(mistakes->detectors[i], out);
}

enum weir_status orchestrator_mistakes_restore(struct mistakes *mistakes, struct weir_bytes *bytes,
                                               struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < mistakes->count && status == WEIR_OK; i++)
        status = orchestrator_detector_restore(mistakes->detectors[i], bytes, err);
    return status;
}
