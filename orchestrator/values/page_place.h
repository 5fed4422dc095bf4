/* The place of the live page: where it is, and how it is encrypted. Pure. */
#ifndef ORCHESTRATOR_VALUES_PAGE_PLACE_H
#define ORCHESTRATOR_VALUES_PAGE_PLACE_H

#include "orchestrator/values/loopback_address.h"

struct page_place {
    const char *address; /* listening address; NULL: there is no page */
    const char *certificate,
        *key; /* files in PEM; NULL: nothing is encrypted, and no token asked for */
};

/* INVALID; UNSUPPORTED when others could reach it unencrypted. */
enum weir_status orchestrator_page_place_read(const struct page_place *place,
                                              struct loopback_address *ret_address,
                                              struct weir_error *err) WEIR_MUST_USE;
/* The same; a place without an address is fine. */
enum weir_status orchestrator_page_place_check(const struct page_place *place,
                                               struct weir_error *err) WEIR_MUST_USE;

#endif
