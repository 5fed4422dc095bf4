/* The labels of a part of a set, asked of storage block by block and kept nowhere: storage alone knows at once what was
 * erased. Bounded: a few parts at a time, each of at most SELECTOR_PART_MAX samples. */
#ifndef SELECTOR_LABELLING_H
#define SELECTOR_LABELLING_H

#include "selector/tasks/task.h"

enum { SELECTOR_LABELLINGS_MAX = 4 };

LIST_HEAD(selector_labellings, selector_labelling);

/* Answers `request` with `part`, which is copied, once the queue's storage has sent the labels; refuses it when there
 * are as many as can be, SELECTOR_LABELLINGS_MAX, or as many of its key beside others. */
void selector_labelling_begin(struct selector_labellings *all, const struct selector_queue *queue,
                              const struct weir_request *request, const struct msg_set_part *part);
/* Forgets all of them without answering; storage answers no more. */
void selector_labelling_drop_all(struct selector_labellings *all);

#endif
