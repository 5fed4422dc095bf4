/* Which launcher starts what, and the options of each: the keys `launcher` and those of the launchers' own names in the
 * system file. */
#ifndef ORCHESTRATOR_LAUNCHERS_LAUNCHING_H
#define ORCHESTRATOR_LAUNCHERS_LAUNCHING_H

#include "orchestrator/launchers/launcher.h"

enum { LAUNCHERS_MAX = 8 };

struct launching {
    const char *workers, *trainers; /* names of launchers; NULL: local */
    void *options[LAUNCHERS_MAX]; /* owned, by the launchers' places in the registry; NULL: none */
};

/* `launcher` is a name for both or a mapping, NULL: local; `root` has the sections of the launchers' names. INVALID
 * with file:line:column. */
enum weir_status orchestrator_launching_read(const struct weir_yaml_node *launcher,
                                             const struct weir_yaml_node *root,
                                             struct launching *ret_launching,
                                             struct weir_error *err) WEIR_MUST_USE;
void orchestrator_launching_fini(struct launching *launching);
/* Place in the registry of the launcher for a class of machines (launcher_group.place). */
size_t orchestrator_launching_at(const struct launching *launching, const char *place);
/* The folder() of the launchers that are used; NULL: there is none. */
const char *orchestrator_launching_folder(const struct launching *launching);
/* Appends the reference of the sections. */
void orchestrator_launching_describe(struct weir_buf *out);

#endif
