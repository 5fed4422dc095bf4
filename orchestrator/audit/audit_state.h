/* The inside of the audit log, shared by the files of this folder. */
#ifndef ORCHESTRATOR_AUDIT_AUDIT_STATE_H
#define ORCHESTRATOR_AUDIT_AUDIT_STATE_H

#include "orchestrator/audit/refusals.h"
#include "orchestrator/context/context.h"
#include "orchestrator/erasures/signing.h"

struct audit {
    struct context *context;
    bool is_known; /* where the chain stands */
    int64_t newest;
    char hash[RECEIPT_HASH_MAX]; /* of the newest; "": there is none */
    struct audit_refusals refusals;
    uint64_t timer; /* 0: no count waits */
};

#endif
