/* The memory of finished batches, divided among trainers by what each needs: who needs less than an equal part has
 * that, and the others have equal parts of the rest (max-min fairness: Bertsekas and Gallager, Data Networks, 1992,
 * 6.5.2). Pure. */
#ifndef WEIR_PREPROCESS_DISPATCHER_BUDGET_H
#define WEIR_PREPROCESS_DISPATCHER_BUDGET_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that one more may have, beside others that need so many. */
uint64_t preprocess_budget_part(uint64_t budget, const uint64_t *needs, size_t count);

#endif
