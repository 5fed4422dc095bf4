/* Sorting within work that may be given up: of many millions it takes seconds. */
#ifndef WEIR_LOOP_WORK_SORT_H
#define WEIR_LOOP_WORK_SORT_H

#include "core/loop/work.h"

enum {
    WEIR_WORK_SORT_PIECE = 1 << 16 /* elements that are sorted, or merged, between two looks */
};

/* As qsort(), with room for as many elements again where there are more than a piece. False: the work was given up, and
 * they stand in some other order. */
bool weir_work_sort(struct weir_work *work, void *elements, size_t count, size_t size,
                    int (*order)(const void *, const void *)) WEIR_MUST_USE;

#endif
