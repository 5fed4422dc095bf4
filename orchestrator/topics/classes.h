/* Answers that name classes. */
#ifndef ORCHESTRATOR_TOPICS_CLASSES_H
#define ORCHESTRATOR_TOPICS_CLASSES_H

#include "orchestrator/topics/topic.h"

/* Answers with `json` and the names of the dataset's classes as its `classes`, a list in the order of their numbers;
 * empty: labels are numbers. Consumes `json` and the call. */
void orchestrator_topic_answer_with_classes(struct topic_call *call, const char *dataset,
                                            json_t *json);
/* Answers with `json`, in which metrics of a class (`accuracy[label=3]`) have its name instead of its number
 * where it came with the samples, so that storage alone knows it. Consumes `json` and the call. */
void orchestrator_topic_answer_naming_classes(struct topic_call *call, const char *dataset,
                                              json_t *json);

#endif
