/* The thread of a decision, and its two ends in the loop. */
#include "orchestrator/pipeline/deciding.h"

#include "core/base/memory.h"
#include "orchestrator/config/classes.h"
#include "orchestrator/pipeline/probe.h"

#include <stdlib.h>

struct deciding {
    struct pipeline *pipeline;
    struct trigger *policy; /* owned once it is abandoned */
    struct probe *probe;    /* the same */
    char *outputs_path;
    const char **class_names;
    struct trigger_measured measured;
    deciding_done_fn *done;
    recalled_fn *recalled;
    struct weir_work *work;
    /* Of the thread, until it is done: */
    json_t *decision;
    bool fires;
    enum weir_status status;
    struct weir_error err;
};

static void free_deciding(struct deciding *deciding)
{
    json_decref(deciding->decision);
    free(deciding->class_names);
    free(deciding->outputs_path);
    free(deciding);
}

/* A file that a pipeline had before stays in memory, so the policy's options outlive the thread. */
static void run(struct weir_work *work, void *owner)
{
    struct deciding *deciding = owner;
    if (deciding->probe != NULL) {
        deciding->status = orchestrator_pipeline_probe_take(deciding->probe, deciding->outputs_path,
                                                            work, &deciding->err);
        orchestrator_pipeline_probe_measured(deciding->probe, &deciding->measured);
    }
    deciding->measured.work = deciding->measured.current.work = work;
    if (deciding->status == WEIR_OK && weir_work_goes_on(work, 0, 0))
        deciding->fires = orchestrator_trigger_measured(deciding->policy, &deciding->measured,
                                                        deciding->decision);
}

static void on_decided(void *owner)
{
    struct deciding *deciding = owner;
    const struct decided decided = {deciding->fires, deciding->decision};
    if (deciding->status == WEIR_OK)
        deciding->done(deciding->pipeline, &decided, NULL);
    else
        deciding->done(deciding->pipeline, NULL, &deciding->err);
    free_deciding(deciding);
}

struct deciding *orchestrator_deciding_start(struct pipeline *pipeline,
                                             const struct deciding_basis *basis,
                                             deciding_done_fn *done)
{
    struct deciding *deciding = weir_calloc(1, sizeof(*deciding));
    deciding->pipeline = pipeline;
    deciding->policy = basis->policy;
    deciding->probe = basis->probe;
    if (basis->outputs_path != NULL)
        deciding->outputs_path = weir_strdup(basis->outputs_path);
    deciding->measured.has_model = basis->probe != NULL;
    deciding->measured.classes =
        orchestrator_config_class_names(pipeline->config, &deciding->class_names);
    deciding->decision = json_object();
    deciding->done = done;
    deciding->work = weir_work_enqueue(pipeline->context->decisions, run, on_decided, deciding);
    return deciding;
}

static void recall(struct weir_work *work, void *owner)
{
    const struct deciding *deciding = owner;
    if (weir_work_goes_on(work, 0, 0))
        orchestrator_pipeline_probe_recall(deciding->probe);
}

static void on_recalled(void *owner)
{
    struct deciding *deciding = owner;
    recalled_fn *recalled = deciding->recalled;
    struct pipeline *pipeline = deciding->pipeline;
    free_deciding(deciding);
    recalled(pipeline);
}

struct deciding *orchestrator_deciding_recall(struct pipeline *pipeline, struct probe *probe,
                                              recalled_fn *done)
{
    struct deciding *deciding = weir_calloc(1, sizeof(*deciding));
    deciding->pipeline = pipeline;
    deciding->probe = probe;
    deciding->recalled = done;
    deciding->work = weir_work_enqueue(pipeline->context->decisions, recall, on_recalled, deciding);
    return deciding;
}

static void on_gone(void *owner)
{
    struct deciding *deciding = owner;
    orchestrator_trigger_close(deciding->policy);
    orchestrator_pipeline_probe_free(deciding->probe);
    free_deciding(deciding);
}

void orchestrator_deciding_abandon(struct deciding *deciding, struct trigger *policy,
                                   struct probe *probe)
{
    deciding->policy = policy;
    deciding->probe = probe;
    weir_work_abandon(deciding->work, on_gone);
}
