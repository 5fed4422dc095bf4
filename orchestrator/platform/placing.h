/* The launchers that are in use, each opened when it is first needed: groups go to the one of their place, or to the
 * one that has started them before the system file named another. */
#ifndef ORCHESTRATOR_PLATFORM_PLACING_H
#define ORCHESTRATOR_PLATFORM_PLACING_H

#include "orchestrator/launchers/launching.h"

struct orchestrator_placing {
    struct launcher_context context; /* without the options */
    const struct launching *launching;
    void *launchers
        [LAUNCHERS_MAX]; /* their states, by their places in the registry; NULL: not used */
    size_t leaving;      /* launchers that are ending what they have started */
    weir_loop_timer_fn *left;
    void *left_owner;
};

/* Opens the launchers that the system file names. Fails as their init() does. */
enum weir_status orchestrator_placing_open(struct orchestrator_placing *placing,
                                           struct weir_error *err) WEIR_MUST_USE;
/* As a launcher's start() and adopt(); `launcher` NULL: that of the group's place. */
enum weir_status orchestrator_placing_start(struct orchestrator_placing *placing,
                                            const char *launcher,
                                            const struct launcher_group *group,
                                            struct weir_error *err) WEIR_MUST_USE;
enum weir_status orchestrator_placing_adopt(struct orchestrator_placing *placing,
                                            const char *launcher,
                                            const struct launcher_group *group,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Of all launchers, as one's. */
size_t orchestrator_placing_list(const struct orchestrator_placing *placing,
                                 struct launcher_process *processes, size_t max);
enum weir_status orchestrator_placing_rename(struct orchestrator_placing *placing, const char *from,
                                             const char *to, struct weir_error *err) WEIR_MUST_USE;
void orchestrator_placing_stop(struct orchestrator_placing *placing, const char *name,
                               int64_t grace_ms);
/* Ends what is elsewhere, while there is somebody to end it; then calls `left`, from the loop or at once. */
void orchestrator_placing_leave(struct orchestrator_placing *placing, weir_loop_timer_fn *left,
                                void *owner);
void orchestrator_placing_fini(struct orchestrator_placing *placing);

#endif
