/* The section `webhooks` of the system file: where events are posted to. */
#ifndef ORCHESTRATOR_CONFIG_HOOKS_H
#define ORCHESTRATOR_CONFIG_HOOKS_H

#include "core/config/schema.h"

enum { ORCHESTRATOR_HOOKS_MAX = 16 };

/* Texts are borrowed from the document. */
struct orchestrator_hook {
    const char *url;
    const char *secret;      /* file that it is in */
    struct cfg_texts events; /* names; none: all */
};

/* `hooks` may be absent (NULL). INVALID with its place. */
enum weir_status orchestrator_hooks_check(const struct weir_yaml_node *hooks,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Of a section that was checked; returns how many. */
size_t orchestrator_hooks_read(const struct weir_yaml_node *hooks,
                               struct orchestrator_hook ret_hooks[ORCHESTRATOR_HOOKS_MAX]);
void orchestrator_hooks_describe(struct weir_buf *out);

#endif
