/* Roles and tenants that may ask a topic: access.def as a table. Pure. */
#ifndef ORCHESTRATOR_TOPICS_ACCESS_H
#define ORCHESTRATOR_TOPICS_ACCESS_H

#include "core/base/error.h"
#include "core/rpc/keyring.h"

struct topic_access {
    const char *name;
    unsigned roles; /* of keys that may ask it, a weir_role each */
    bool is_order;  /* changes something */
    bool is_whole;  /* of the whole platform, and so for no tenant */
};

/* All topics, in the order of access.def. */
size_t orchestrator_topic_count(void);
const struct topic_access *orchestrator_topic_at(size_t index);
/* NULL: there is no such topic. */
const struct topic_access *orchestrator_topic_named(const char *name);
/* DENIED, in words, unless the sender may ask it. The platform may ask all. */
enum weir_status orchestrator_topic_check(const struct topic_access *topic,
                                          const struct weir_sender *sender,
                                          struct weir_error *err) WEIR_MUST_USE;

#endif
