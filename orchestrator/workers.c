/* A group of workers as programs of the platform. */
#include "orchestrator/workers.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ARGUMENTS_MAX = 12, STOP_MS = 5000 };

/* Arguments that all workers of a place have. */
struct worker_arguments {
    const char *at[ARGUMENTS_MAX];
    size_t count;
    char *share, *keep;
};

static void add(struct worker_arguments *arguments, const char *option, const char *value)
{
    arguments->at[arguments->count++] = option;
    arguments->at[arguments->count++] = value;
}

static void arguments_init(struct worker_arguments *arguments,
                           const struct orchestrator_system *system, const struct crew_group *group)
{
    const char *place = group->place;
    *arguments = (struct worker_arguments){.share = weir_format("%" PRIu64, system->share_bytes)};
    add(arguments, "--share", arguments->share);
    if (group->key != NULL)
        add(arguments, "--listen", "tcp://" LAUNCHER_HOST ":*");
    else if (system->listen != NULL)
        add(arguments, "--listen", system->listen);
    if (group->key == NULL && system->listen != NULL && system->advertise != NULL)
        add(arguments, "--advertise", system->advertise);
    if (system->compress != NULL)
        add(arguments, "--compress", system->compress);
    if (system->cache_bytes > 0) {
        arguments->keep =
            weir_format("%" PRIu64 ":%s", system->cache_bytes, system->cache_compress);
        add(arguments, "--keep", arguments->keep);
    }
    if (!weir_str_equal(place, "pool"))
        add(arguments, "--place", place);
}

static void arguments_fini(struct worker_arguments *arguments)
{
    free(arguments->share);
    free(arguments->keep);
}

typedef enum weir_status platform_fn(struct orchestrator_platform *platform,
                                     const struct orchestrator_programs *programs,
                                     struct weir_error *err);

static enum weir_status hand_over(const struct worker_programs *workers, platform_fn *fn,
                                  const struct crew_group *group, struct weir_error *err)
{
    struct worker_arguments arguments;
    arguments_init(&arguments, workers->system, group);
    struct orchestrator_program *programs = weir_calloc(group->count, sizeof(*programs));
    for (size_t i = 0; i < group->count; i++)
        programs[i] = (struct orchestrator_program){
            .program = "worker",
            .name = group->names[i],
            .is_elsewhere = group->key != NULL,
            .arguments = arguments.at,
            .argument_count = arguments.count,
            .restart = true,
            .exited = workers->exited,
            .owner = workers->exited_owner,
        };
    const struct orchestrator_programs all = {
        .group = group->name,
        .place = group->place,
        .launcher = group->launcher,
        .key = group->key,
        .cores = 1, /* a worker is one loop on one thread */
        .at = programs,
        .count = group->count,
    };
    enum weir_status status = fn(workers->platform, &all, err);
    free(programs);
    arguments_fini(&arguments);
    return status;
}

static enum weir_status start(void *owner, const struct crew_group *group, struct weir_error *err)
{
    return hand_over(owner, orchestrator_platform_launch, group, err);
}

static enum weir_status adopt(void *owner, const struct crew_group *group, struct weir_error *err)
{
    return hand_over(owner, orchestrator_platform_adopt, group, err);
}

static void stop(void *owner, const char *name)
{
    const struct worker_programs *workers = owner;
    orchestrator_platform_end(workers->platform, name, STOP_MS);
}

static size_t list(const void *owner, struct launcher_process *processes, size_t max)
{
    const struct worker_programs *workers = owner;
    return orchestrator_platform_list(workers->platform, processes, max);
}

/* A launcher other than local may start them anywhere; where nobody elsewhere is listened to, they need the platform's
 * own sockets and folders. */
static bool is_elsewhere(const struct worker_programs *programs, const char *launcher)
{
    return programs->is_listening && !weir_str_equal(launcher, "local");
}

struct orchestrator_crew orchestrator_worker_crew(struct worker_programs *programs)
{
    const struct launching *launching = &programs->system->launching;
    return (struct orchestrator_crew){
        .owner = programs,
        .launchers = {launching->workers, launching->trainers},
        .are_elsewhere = {is_elsewhere(programs, launching->workers),
                          is_elsewhere(programs, launching->trainers)},
        .start = start,
        .adopt = adopt,
        .stop = stop,
        .list = list,
    };
}
