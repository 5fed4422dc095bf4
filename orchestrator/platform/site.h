/* The programs of a platform as the children that a supervisor or a launcher is given: where they lie, what they are
 * told of the platform, what they may touch. */
#ifndef ORCHESTRATOR_PLATFORM_SITE_H
#define ORCHESTRATOR_PLATFORM_SITE_H

#include "orchestrator/platform/datadir.h"
#include "orchestrator/platform/jails.h"
#include "orchestrator/platform/program.h"

struct orchestrator_site {
    const char *bin_dir;
    const char *log_level; /* NULL: the programs' default */
    const struct orchestrator_datadir *datadir;
    const struct orchestrator_jails *jails;
};

char **orchestrator_site_command(const struct orchestrator_site *site,
                                 const struct orchestrator_program *program) WEIR_MUST_USE;
void orchestrator_site_command_free(char **argv);

/* Memory that the child of a program borrows. */
struct orchestrator_launched {
    char **argv;
    char **env;
    const char **told;
    struct weir_jail jail;
};

struct orchestrator_child orchestrator_site_child(const struct orchestrator_site *site,
                                                  const struct orchestrator_program *program,
                                                  struct orchestrator_launched *launched);
void orchestrator_site_child_fini(struct orchestrator_launched *launched);

#endif
