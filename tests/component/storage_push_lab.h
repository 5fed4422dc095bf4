/* Pushing to the storage of a lab. */
#ifndef WEIR_TESTS_COMPONENT_STORAGE_PUSH_LAB_H
#define WEIR_TESTS_COMPONENT_STORAGE_PUSH_LAB_H

#include "tests/component/storage_lab.h"

struct pushed {
    bool is_done;
    enum weir_status status;  /* of the refusal, whose text is in lab->err */
    struct msg_pushed answer; /* in the lab's arena */
    struct storage_lab *lab;
};

/* Begins to push; `pushed` must stay where it is until it is done. */
void storage_push_begin(struct storage_lab *lab, const struct msg_push *push,
                        struct weir_bytes payload, struct pushed *pushed);
/* Turns the loop until it is answered. */
void storage_push_await(struct pushed *pushed);
/* Both, for text. */
struct pushed storage_push_text(struct storage_lab *lab, const struct msg_push *push,
                                const char *text);

#endif
