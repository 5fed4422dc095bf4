/* Differences between the file of a pipeline and another one, and when each takes effect. Pure. */
#ifndef ORCHESTRATOR_CONFIG_CHANGES_H
#define ORCHESTRATOR_CONFIG_CHANGES_H

#include "core/config/difference.h"
#include "orchestrator/config/config.h"

// clang-format off
#define CONFIG_EFFECT_LIST(X)    \
    X(NOW,          "now")       \
    X(NEXT_TRIGGER, "next_trigger") \
    X(RERUN,        "rerun")     /* models or samples that are there contradict it */
// clang-format on

enum config_effect {
#define X(name, text) CONFIG_EFFECT_##name,
    CONFIG_EFFECT_LIST(X)
#undef X
};
const char *orchestrator_config_effect_name(enum config_effect effect);

struct config_change {
    const struct cfg_difference *difference;
    enum config_effect effect;
    const char *text; /* the effect, for people */
};

typedef void config_change_fn(void *owner, const struct config_change *change);

/* Calls `on_change` for each difference, in the order of the older file. */
void orchestrator_config_changes(const struct orchestrator_config *was,
                                 const struct orchestrator_config *is, config_change_fn *on_change,
                                 void *owner);

#endif
