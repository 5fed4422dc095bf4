/* Command lines and environments, each a copy. */
#include "orchestrator/platform/site.h"

#include "core/base/memory.h"
#include "core/service/programs.h"
#include "orchestrator/launchers/launcher.h"
#include "orchestrator/processes/environment.h"

#include <stdlib.h>

enum { ARGUMENTS_MAX = 32 };

char **orchestrator_site_command(const struct orchestrator_site *site,
                                 const struct orchestrator_program *program)
{
    char **argv = weir_calloc(ARGUMENTS_MAX, sizeof(*argv));
    size_t count = 0;
    const struct orchestrator_datadir *datadir = site->datadir;
    const char *sockets = program->open != NULL ? datadir->trainer_dir : datadir->socket_dir;
    const char *const here[] = {"--data-dir", datadir->path, "--socket-dir", sockets};
    const char *const elsewhere[] = {"--data-dir", LAUNCHER_SCRATCH, "--key", LAUNCHER_KEY};
    const char *const *where = program->is_elsewhere ? elsewhere : here;
    argv[count++] = weir_format("%s/%s", site->bin_dir, program->program);
    for (size_t i = 0; i < WEIR_COUNT(here); i++)
        argv[count++] = weir_strdup(where[i]);
    argv[count++] = weir_strdup("--name");
    argv[count++] = weir_strdup(program->name);
    if (site->log_level != NULL) {
        argv[count++] = weir_strdup("--log-level");
        argv[count++] = weir_strdup(site->log_level);
    }
    weir_require(count + program->argument_count < ARGUMENTS_MAX);
    for (size_t i = 0; i < program->argument_count; i++)
        argv[count++] = weir_strdup(program->arguments[i]);
    return argv;
}

static char **foreign_command(const struct weir_allowed *allowed)
{
    char **argv = weir_calloc(allowed->command.count + 1, sizeof(*argv));

    for (size_t i = 0; i < allowed->command.count; i++)
        argv[i] = weir_strdup(weir_yaml_text(weir_yaml_at(allowed->command.node, i)));
    return argv;
}

/* `env`, with what a program of the user finds there of Weir: its run, and where the platform is. */
static char **foreign_environment(const struct orchestrator_site *site,
                                  const struct orchestrator_program *program, char **env)
{
    const struct weir_yaml_node *more = program->foreign->env;

    env = orchestrator_environment_keep_memory(env);
    env = orchestrator_environment_add(env, "WEIR_RUN", program->run);
    if (!program->is_elsewhere)
        env = orchestrator_environment_add(env, "WEIR_SOCKET_DIR", site->datadir->trainer_dir);
    for (size_t i = 0; i < weir_yaml_pairs(more); i++)
        env = orchestrator_environment_add(env, weir_yaml_key(more, i),
                                           weir_yaml_text(weir_yaml_value(more, i)));
    return orchestrator_environment_add_rank(env, &program->rank);
}

/* Names of the variables that the system file gives the user's program. */
static const char **told_to(const struct weir_allowed *foreign)
{
    size_t count = weir_yaml_pairs(foreign->env);
    const char **told = weir_calloc(count + 1, sizeof(*told));

    for (size_t i = 0; i < count; i++)
        told[i] = weir_yaml_key(foreign->env, i);
    return told;
}

void orchestrator_site_command_free(char **argv)
{
    for (size_t i = 0; argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}

struct orchestrator_child orchestrator_site_child(const struct orchestrator_site *site,
                                                  const struct orchestrator_program *program,
                                                  struct orchestrator_launched *launched)
{
    bool is_foreign = program->foreign != NULL;
    launched->argv =
        is_foreign ? foreign_command(program->foreign) : orchestrator_site_command(site, program);
    launched->told = is_foreign ? told_to(program->foreign) : NULL;
    launched->env = orchestrator_environment_apart(program->gpus);
    if (is_foreign)
        launched->env = foreign_environment(site, program, launched->env);
    if (program->is_elsewhere)
        launched->env = orchestrator_environment_add(launched->env, "WEIR_KEY", LAUNCHER_KEY);
    if (program->token != NULL)
        launched->env = orchestrator_environment_add(launched->env, "WEIR_TOKEN", program->token);
    launched->jail = site->jails->trainers;
    launched->jail.open = program->open;
    launched->jail.readable = program->readable;
    if (program->rank.port != 0 || program->is_elsewhere)
        launched->jail.sockets = WEIR_JAIL_ALL_SOCKETS;
    return (struct orchestrator_child){
        .name = program->name,
        .argv = launched->argv,
        .env = launched->env,
        .told = launched->told,
        .directory = is_foreign ? program->open[0] : NULL,
        .restart = program->restart,
        .jail = program->open != NULL ? &launched->jail : NULL,
        .stage = ORCHESTRATOR_STAGE_LAUNCHED,
        .exited = program->exited,
        .owner = program->owner,
    };
}

void orchestrator_site_child_fini(struct orchestrator_launched *launched)
{
    orchestrator_site_command_free(launched->argv);
    orchestrator_environment_free(launched->env);
    free(launched->told);
}
