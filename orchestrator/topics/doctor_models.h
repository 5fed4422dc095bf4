/* The examination of the models' files, for `weir doctor`: one after the other, on a thread, as each is read whole. */
#ifndef ORCHESTRATOR_TOPICS_DOCTOR_MODELS_H
#define ORCHESTRATOR_TOPICS_DOCTOR_MODELS_H

#include "orchestrator/topics/topic.h"

/* Called once all have been looked at; or the call was refused, and it is not. */
typedef void doctor_models_fn(struct topic_call *call);
/* Compares each model that is there, and its fitted state, with its checksum, and appends what is found to the list
 * "findings" of call->collected. The call drops it when it is forgotten. */
void orchestrator_doctor_models(struct topic_call *call, doctor_models_fn *done);

#endif
