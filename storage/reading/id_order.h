/* Ids in ascending order without moving them: samples that lie together are then found together. Pure. */
#ifndef WEIR_STORAGE_ID_ORDER_H
#define WEIR_STORAGE_ID_ORDER_H

#include "core/base/memory.h"

#include <stdint.h>

/* The numbers 0 … count - 1 by ascending ids[number], in the arena. Equal ids keep their order. */
const uint32_t *storage_id_order(const uint64_t *ids, uint32_t count, struct weir_arena *arena);

#endif
