/* See run_outputs.h. */
#include "orchestrator/topics/run_outputs.h"

#include "core/base/memory.h"
#include "core/loop/work.h"

#include <stdlib.h>

struct topic_opening {
    struct topic_call *call;
    topic_outputs_fn *done;
    void (*forget)(struct topic_call *call); /* the call's own; may be NULL */
    struct weir_work *work;
    char *path;
    /* Of the thread, until it is done: */
    struct weir_outputs outputs;
    struct weir_error err;
    enum weir_status status;
};

static void opening_free(void *owner)
{
    struct topic_opening *opening = owner;
    weir_outputs_close(&opening->outputs);
    free(opening->path);
    free(opening);
}

static void open_file(struct weir_work *work, void *owner)
{
    struct topic_opening *opening = owner;
    (void)work;
    opening->status = weir_outputs_open(opening->path, &opening->outputs, &opening->err);
}

static void on_opened(void *owner)
{
    struct topic_opening *opening = owner;
    struct topic_call *call = opening->call;
    bool is_open = opening->status == WEIR_OK;
    call->opening = NULL;
    call->forget = opening->forget;
    opening->done(call, is_open ? &opening->outputs : NULL, is_open ? NULL : &opening->err);
    opening_free(opening);
}

static void forget(struct topic_call *call)
{
    struct topic_opening *opening = call->opening;
    void (*own)(struct topic_call *) = opening->forget;
    weir_work_abandon(opening->work, opening_free);
    if (own != NULL)
        own(call);
}

void orchestrator_topic_open_outputs(struct topic_call *call, const char *path,
                                     topic_outputs_fn *done)
{
    struct topic_opening *opening = weir_calloc(1, sizeof(*opening));
    *opening = (struct topic_opening){
        .call = call, .done = done, .forget = call->forget, .path = weir_strdup(path)};
    call->opening = opening;
    call->forget = forget;
    opening->work = weir_work_enqueue(call->context->measurings, open_file, on_opened, opening);
}
