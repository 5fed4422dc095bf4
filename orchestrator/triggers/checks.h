/* When a policy checks: every so many samples, or whenever event time crosses a boundary of a grid (period.h); counted
 * again from every trigger. The first checks may be a warm-up, in which another policy decides and the one that checks
 * only learns what is usual. Pure; part of the options and the state of the policies that ask. */
#ifndef ORCHESTRATOR_TRIGGERS_CHECKS_H
#define ORCHESTRATOR_TRIGGERS_CHECKS_H

#include "orchestrator/triggers/trigger.h"
#include "orchestrator/values/period.h"

struct trigger_checks_options {
    uint64_t samples;
    const char *every;
    uint64_t warmup;
    const struct weir_yaml_node *warmup_policy;
};

/* Their keys, for a member `member` of the policy's options `owner`. */
// clang-format off
#define TRIGGER_CHECKS_KEYS(owner, member)                                                                   \
    CFG_KEY_AS("samples", CFG_KIND_U64, uint64_t, owner, member.samples,                                     \
               .doc = "new samples from one check to the next"),                                             \
    CFG_KEY_AS("every", CFG_KIND_TEXT, const char *, owner, member.every,                                    \
               .doc = "instead: event time from one check to the next, as for policy time"),                 \
    CFG_KEY_AS("warmup", CFG_KIND_U64, uint64_t, owner, member.warmup,                                       \
               .doc = "checks at the beginning that only teach the criteria what is usual"),                 \
    CFG_KEY_AS("warmup_policy", CFG_KIND_NODE, const struct weir_yaml_node *, owner, member.warmup_policy,   \
               .doc = "the trigger policy that decides during the warm-up")
// clang-format on

enum { TRIGGER_WHY_MAX = 2048 };

struct trigger_checks {
    uint64_t samples; /* 0: by time */
    struct orchestrator_period period;
    uint64_t warmup;
    struct trigger *warmup_policy; /* NULL: there is no warm-up */

    uint64_t since; /* samples since the check, or trigger, before */
    uint64_t made;  /* checks, up to `warmup` */
    bool started;   /* by time: there was a sample */
    bool is_due;
    int64_t next_us;
    char why[TRIGGER_WHY_MAX]; /* what the newest check found, in words: the policy's to write */
};

/* INVALID unless there is either `samples` or `every`, and both or none of the others. */
enum weir_status orchestrator_trigger_checks_init(struct trigger_checks *checks,
                                                  const struct trigger_checks_options *options,
                                                  const struct weir_yaml_node *node,
                                                  struct weir_error *err) WEIR_MUST_USE;
void orchestrator_trigger_checks_fini(struct trigger_checks *checks);

bool orchestrator_trigger_checks_warm_up(const struct trigger_checks *checks);
/* The part of the policy's functions of these names that is about checks; true: the warm-up's policy fires. */
bool orchestrator_trigger_checks_before(struct trigger_checks *checks,
                                        const struct trigger_sample *sample);
bool orchestrator_trigger_checks_tick(struct trigger_checks *checks, int64_t now_us);
bool orchestrator_trigger_checks_observe(struct trigger_checks *checks,
                                         const struct trigger_sample *sample);
void orchestrator_trigger_checks_fired(struct trigger_checks *checks);
/* The check is made: completes `decision` by what was found and decided. True: a trigger ends here; not in the
 * warm-up, which decides nothing. */
bool orchestrator_trigger_checks_decide(struct trigger_checks *checks, bool fires,
                                        json_t *decision);
void orchestrator_trigger_checks_explain(const struct trigger_checks *checks, struct weir_buf *out);

void orchestrator_trigger_checks_save(const struct trigger_checks *checks, struct weir_buf *out);
enum weir_status orchestrator_trigger_checks_restore(struct trigger_checks *checks,
                                                     struct weir_bytes *bytes,
                                                     struct weir_error *err) WEIR_MUST_USE;

#endif
