/* Growing lists of ids or keyed hashes. Zeroed is empty; the owner frees `at`. */
#ifndef WEIR_STORAGE_ID_LIST_H
#define WEIR_STORAGE_ID_LIST_H

#include "core/base/bytes.h"

struct id_list {
    uint64_t *at;
    size_t count;
    size_t capacity;
};

void storage_id_list_add(struct id_list *ids, uint64_t id);
/* Sorts and drops repetitions. */
void storage_id_list_sort(struct id_list *ids);
/* In a sorted list. */
bool storage_id_list_has(const struct id_list *ids, uint64_t id);
/* As little-endian words. */
void storage_id_list_pack(const struct id_list *ids, struct weir_buf *out);
void storage_id_list_unpack(struct weir_bytes packed, struct id_list *ids);

#endif
