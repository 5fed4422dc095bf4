/* The detectors there are, and one at work. */
#include "orchestrator/drift/detector.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DETECTORS(X) X(ddm) X(eddm) X(adwin) X(page_hinkley) X(kswin)

#define X(name) extern const struct detector_kind detector_##name;
DETECTORS(X)
#undef X

static const struct detector_kind *const KINDS[] = {
#define X(name) &detector_##name,
    DETECTORS(X)
#undef X
};

static const char *const NAMES[] = {
#define X(name) #name,
    DETECTORS(X)
#undef X
        NULL,
};

struct detector {
    const struct detector_kind *kind;
    void *options;
    size_t words;
    uint64_t *state;
};

const struct detector_kind *orchestrator_detector_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(KINDS); i++)
        if (weir_str_equal(KINDS[i]->name, name))
            return KINDS[i];
    return NULL;
}

size_t orchestrator_detector_count(void)
{
    return WEIR_COUNT(KINDS);
}

const struct detector_kind *orchestrator_detector_at(size_t index)
{
    return KINDS[index];
}

static enum weir_status find_kind(const struct weir_yaml_node *node, const char *path,
                                  const struct detector_kind **ret_kind, struct weir_error *err)
{
    const struct weir_yaml_node *named = weir_yaml_get(node, "policy");
    const char *name = weir_yaml_text(named);
    if (name == NULL)
        return weir_yaml_fail(node, err, "%s: expected a mapping such as {policy: adwin}", path);
    *ret_kind = orchestrator_detector_find(name);
    if (*ret_kind != NULL)
        return WEIR_OK;
    WEIR_AUTO_FREE char *key = weir_format("%s.policy", path);
    return cfg_unknown(named, key, "detector", NAMES, err);
}

enum weir_status orchestrator_detector_open(const struct weir_yaml_node *node, const char *path,
                                            struct detector **ret_detector, struct weir_error *err)
{
    const struct detector_kind *kind = NULL;
    enum weir_status status = find_kind(node, path, &kind, err);
    if (status != WEIR_OK)
        return status;
    weir_require(kind != NULL);
    WEIR_AUTO(detector) detector = weir_calloc(1, sizeof *detector);
    detector->kind = kind;
    detector->options = weir_calloc(1, kind->options_size);
    status = cfg_read(kind->options, CFG_CLOSED, node, path, "policy", detector->options, err);
    if (status != WEIR_OK)
        return status;
    const char *complaint = kind->complaint == NULL ? "" : kind->complaint(detector->options);
    if (complaint[0] != '\0')
        return weir_yaml_fail(node, err, "%s: %s: %s", path, kind->name, complaint);
    detector->words = kind->words(detector->options);
    detector->state = weir_calloc(detector->words, sizeof *detector->state);
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

enum detector_verdict orchestrator_detector_take(struct detector *detector, double value)
{
    if (!isfinite(value))
        return DETECTOR_STABLE;
    return detector->kind->take(detector->options, detector->state, value);
}

void orchestrator_detector_forget(struct detector *detector)
{
    memset(detector->state, 0, detector->words * sizeof *detector->state);
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
    if (bytes->size < size)
        return weir_fail(err, WEIR_INVALID, "saved %s: expected %zu bytes, found %zu",
                         detector->kind->name, size, bytes->size);
    for (size_t i = 0; i < detector->words; i++)
        detector->state[i] = weir_get_u64(bytes->at + 8 * i);
    *bytes = weir_bytes(bytes->at + size, bytes->size - size);
    return WEIR_OK;
}

void orchestrator_detector_describe(struct weir_buf *out)
{
    for (size_t i = 0; i < orchestrator_detector_count(); i++) {
        const struct detector_kind *kind = orchestrator_detector_at(i);
        weir_buf_printf(out, "#### detector.policy: %s\n\n%s\n\n", kind->name, kind->summary);
        cfg_document(kind->options, out);
        weir_buf_append_text(out, "\n");
    }
}
