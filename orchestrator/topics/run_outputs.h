/* The outputs of a run that a request has waited for: opened on a thread, as their checksum is over all of them. */
#ifndef ORCHESTRATOR_TOPICS_RUN_OUTPUTS_H
#define ORCHESTRATOR_TOPICS_RUN_OUTPUTS_H

#include "core/wire/outputs.h"
#include "orchestrator/topics/topic.h"

/* Called once from the loop: with the outputs, valid during the call, or NULL and why not. */
typedef void topic_outputs_fn(struct topic_call *call, const struct weir_outputs *outputs,
                              const struct weir_error *err);
/* The call drops it when it is forgotten. */
void orchestrator_topic_open_outputs(struct topic_call *call, const char *path,
                                     topic_outputs_fn *done);

#endif
