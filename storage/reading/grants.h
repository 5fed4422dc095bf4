/* Grants: requests to object stores, signed by storage for a worker on another host to send, so that the bytes go there
 * straight. Each is for one sample: method, object, If-Match of its version and Range are signed, and it ends two
 * seconds after it was made, by the store's clock (s3_clock.h). Nothing
 * is granted of a sample that is not live, or of an object that an erasure has yet to change, over a connection
 * without TLS, or where the credentials say `grants: false`. The secret stays here. */
#ifndef WEIR_STORAGE_GRANTS_H
#define WEIR_STORAGE_GRANTS_H

#include "storage/reading/serve.h"

enum {
    GRANT_IDS_MAX = 4096, /* of one request */
    GRANTS_MAX = 256,     /* of one answer: more would not be used within their time */
    GRANT_S = 2,          /* "a grant ends 2 s after an erasure is in force at the latest" */
    /* an answer ends before it grants more, unless its first sample alone does */
    GRANTED_BYTES = 16 << 20,
};

enum weir_status storage_grant(const struct serving *serving, const struct msg_grant *asked,
                               struct weir_arena *arena, struct msg_granted *answer,
                               struct weir_error *err) WEIR_MUST_USE;
/* NOT_FOUND when no store is vouched for by certificates of this hash, or not any longer. */
enum weir_status storage_authority(const struct serving *serving, const struct msg_authority *asked,
                                   struct msg_authority_is *answer,
                                   struct weir_error *err) WEIR_MUST_USE;

#endif
