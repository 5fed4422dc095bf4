/* Sealed sets in parts, for readers that cannot map their files. The set that was asked for last stays open; every
 * part is checked against its sums, a set whose epochs are asked for as a whole, once. */
#ifndef SELECTOR_SETS_SERVING_H
#define SELECTOR_SETS_SERVING_H

#include "core/wire/sample_set.h"
#include "core/wire/wire.h"

enum { SELECTOR_PART_MAX = 1 << 20 };

/* Zero-initialised is closed. */
struct selector_serving {
    char digest[WEIR_DIGEST_TEXT_MAX];
    struct weir_sample_set set;
    bool is_checked; /* all of it */
    uint64_t *ids;   /* of a part of an epoch, and their weights: room for SELECTOR_PART_MAX */
    float *weights;
};

void selector_serving_fini(struct selector_serving *serving);
/* Opens the set that is asked for, as `serving->set`. INVALID, NOT_FOUND, CORRUPT, IO. */
enum weir_status selector_serving_open(struct selector_serving *serving, const char *data_dir,
                                       const struct msg_set_read *asked,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Fills `ret_part` from the set that is open for this request, but for labels; it borrows from `serving` until the next
 * call. INVALID, CORRUPT. */
enum weir_status selector_serving_read(struct selector_serving *serving,
                                       const struct msg_set_read *asked,
                                       struct msg_set_part *ret_part,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
