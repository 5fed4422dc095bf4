/* A trigger policy decides, sample by sample, when a pipeline retrains. A policy is pure: it reads
 * no clock, file or socket, so the same samples always fire the same triggers, however they are cut
 * into pages, and a restart that restores its saved state goes on as if nothing had happened.
 *
 * A policy that cannot tell from ids, times and labels has checks: one comes due every so many samples
 * or so much event time, and requests what it needs to know of which samples. The pipeline has that measured, which may
 * take a training's length and outlive a restart, and tells it the numbers. Meanwhile no sample passes.
 *
 * One file per policy: trigger_NAME.c holds `const struct trigger_policy trigger_NAME`, named in
 * registry.c. */
#ifndef ORCHESTRATOR_TRIGGERS_TRIGGER_H
#define ORCHESTRATOR_TRIGGERS_TRIGGER_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/config/plugin.h"
#include "core/service/programs.h"
#include "core/wire/wire.h"

#include <jansson.h>

struct weir_work;

struct trigger_sample {
    uint64_t id;
    int64_t time_us; /* event time */
    int64_t label;
};

/* The kinds of knowledge that a check asks for. */
enum trigger_subject {
    TRIGGER_NOTHING,     /* no more than the policy has been shown: it only decides now */
    TRIGGER_FEATURES,    /* the tensors that the operators make of each, as one row of numbers */
    TRIGGER_EMBEDDINGS,  /* by the newest model */
    TRIGGER_PREDICTIONS, /* by the newest model, beside the label */
    TRIGGER_SUBJECTS
};
const char *orchestrator_trigger_subject_name(enum trigger_subject subject); /* "embeddings" */
/* The mode of the run that measures it: "embed"; NULL: there is none. */
const char *orchestrator_trigger_subject_mode(enum trigger_subject subject);

/* The samples that a check asks about. Ids ascend. */
struct trigger_request {
    enum trigger_subject subject;
    struct weir_u64s reference; /* the same samples as at the check before, often */
    struct weir_u64s current;
};

/* The findings, in order of id, without samples that are erased or cannot be read. */
struct trigger_points {
    const uint64_t *ids;
    const int64_t *labels;
    const float *values; /* (count, width) */
    /* of the values, `width` texts in UTF-8 each ended by a NUL; NULL: they have none */
    const char *names;
    size_t count, width;
    const double *numbers; /* (count, label_width): as in struct metric_input */
    size_t label_width;
    struct weir_work *work; /* as in struct metric_input */
};

struct trigger_measured {
    struct weir_work *work; /* work that it is judged in: once given up, nobody looks; NULL: none */
    bool has_model;         /* false: there was none to ask, nothing is known */
    struct trigger_points reference, current;
    /* names of the classes of labels, by number, as far as the file declares them */
    struct weir_strs classes;
};

struct trigger;

/* Functions of a policy that has samples measured. All but member() are required. */
struct trigger_measuring {
    /* Returns the subject of all its requests; TRIGGER_NOTHING: it only passes on those of its members. */
    enum trigger_subject (*subject)(const void *state);
    /* True: a check is due, and request() may be called. Asked wherever a trigger may end; until measured() is called
     * the answer stays, then it is false. */
    bool (*is_due)(const void *state);
    /* The same whenever it is called between two samples. The ids are the policy's and stay until the next call. */
    void (*request)(void *state, struct trigger_request *ret_request);
    /* True: a trigger ends here. Adds to `decision` (an object) what a person needs to see why: score, threshold,
     * window, counts, `verdict`. */
    bool (*measured)(void *state, const struct trigger_measured *measured, json_t *decision);
    /* These samples (ascending) are erased: what the state tells of them has to go. */
    void (*forget)(void *state, struct weir_u64s ids);
    /* Optional. Returns the policy at this place of those that it is made of; NULL: there are no more. */
    const struct trigger *(*member)(const void *state, size_t index);
};

/* Events outside the stream. All functions are optional. */
struct trigger_events {
    /* `count` samples that this pipeline has taken before were erased. True: a trigger ends here. */
    bool (*erased)(void *state, uint64_t count);
    /* Of a live pipeline that has taken all there is: it is `now_us`, and samples of that time may never come. True: a
     * trigger ends here. */
    bool (*tick)(void *state, int64_t now_us);
    /* The newest trigger, of `samples` new samples, was trained on in `seconds`. */
    void (*trained)(void *state, uint64_t samples, double seconds);
};

/* At least one of before(), observe() and events->erased() is there. `state` is `state_size` zeroed bytes,
 * 8-aligned. */
struct trigger_policy {
    CFG_PLUGIN;
    size_t state_size;
    const struct trigger_measuring *measuring; /* NULL: ids, times and labels are enough */
    const struct trigger_events *events;       /* NULL: it follows the stream alone */

    /* Required. Takes over what `options` says; `node` is the policy's mapping, for places in
     * errors and for what a table cannot say. Both stay valid as long as the state. */
    enum weir_status (*init)(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err);
    /* Optional. Releases what init() acquired, not the state itself. */
    void (*fini)(void *state);

    /* Optional. True: a trigger ends just before `sample`, which is not taken yet. It is offered
     * again afterwards; the answer must be false then. */
    bool (*before)(void *state, const struct trigger_sample *sample);
    /* Optional. Takes `sample`. True: a trigger ends with it. */
    bool (*observe)(void *state, const struct trigger_sample *sample);
    /* Optional. A trigger has ended here, by whatever policy. A check that was due is so no more. */
    void (*fired)(void *state);

    /* Required. Why it said true, or how far it is: "500 new samples". */
    void (*explain)(const void *state, struct weir_buf *out);
    /* Required. restore() takes back from the front of `*bytes` what save() has appended; INVALID when that is not
     * what it finds, the state then is only good to be released. */
    void (*save)(const void *state, struct weir_buf *out);
    enum weir_status (*restore)(void *state, struct weir_bytes *bytes, struct weir_error *err);
};

CFG_REGISTRY(orchestrator_trigger, struct trigger_policy, ORCHESTRATOR_TRIGGERS)

/* ---- a policy at work ---- */

/* Builds the policy that the mapping `node` names ("policy: amount") with its options. `path` names
 * the section in errors. The document must outlive the trigger. */
enum weir_status orchestrator_trigger_open(const struct weir_yaml_node *node, const char *path,
                                           struct trigger **ret_trigger,
                                           struct weir_error *err) WEIR_MUST_USE;
void orchestrator_trigger_close(struct trigger *trigger);
WEIR_DEFINE_AUTO(trigger, orchestrator_trigger_close)

const struct trigger_policy *orchestrator_trigger_policy(const struct trigger *trigger);
/* INVALID with the place of a policy in it that needs a mode which the program does not do. */
enum weir_status orchestrator_trigger_check_modes(const struct trigger *trigger,
                                                  const struct weir_allowed *program,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* The answers of the policy's functions of the same names; false where it has none. */
bool orchestrator_trigger_before(struct trigger *trigger, const struct trigger_sample *sample);
bool orchestrator_trigger_observe(struct trigger *trigger, const struct trigger_sample *sample);
bool orchestrator_trigger_tick(struct trigger *trigger, int64_t now_us);
bool orchestrator_trigger_erased(struct trigger *trigger, uint64_t count);
bool orchestrator_trigger_is_due(const struct trigger *trigger);
void orchestrator_trigger_request(struct trigger *trigger, struct trigger_request *ret_request);
bool orchestrator_trigger_measured(struct trigger *trigger, const struct trigger_measured *measured,
                                   json_t *decision);
void orchestrator_trigger_forget(struct trigger *trigger, struct weir_u64s ids);
void orchestrator_trigger_trained(struct trigger *trigger, uint64_t samples, double seconds);
void orchestrator_trigger_fired(struct trigger *trigger);
void orchestrator_trigger_explain(const struct trigger *trigger, struct weir_buf *out);
void orchestrator_trigger_save(const struct trigger *trigger, struct weir_buf *out);
enum weir_status orchestrator_trigger_restore(struct trigger *trigger, struct weir_bytes *bytes,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Takes one saved number from the front; for restore(). */
enum weir_status orchestrator_trigger_take_u64(struct weir_bytes *bytes, uint64_t *ret_value,
                                               struct weir_error *err) WEIR_MUST_USE;
/* The same for a truth value: INVALID unless it is 0 or 1. */
enum weir_status orchestrator_trigger_take_bool(struct weir_bytes *bytes, bool *ret_value,
                                                struct weir_error *err) WEIR_MUST_USE;

/* The same for a number: INVALID unless it is finite and not negative. */
enum weir_status orchestrator_trigger_take_f64(struct weir_bytes *bytes, double *ret_value,
                                               struct weir_error *err) WEIR_MUST_USE;
/* A text, of which what does not fit `size` bytes is cut off. */
void orchestrator_trigger_put_text(struct weir_buf *out, const char *text);
enum weir_status orchestrator_trigger_take_text(struct weir_bytes *bytes, char *text, size_t size,
                                                struct weir_error *err) WEIR_MUST_USE;

/* Appends the effective options of the section as YAML, indented. */
enum weir_status orchestrator_trigger_print(const struct weir_yaml_node *node, int indent,
                                            struct weir_buf *out,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
