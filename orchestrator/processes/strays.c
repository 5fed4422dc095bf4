/* By WEIR_TOKEN and WEIR_RANK, which a trainer is started with. */
#include "orchestrator/processes/strays.h"

#include "core/base/bytes.h"
#include "core/base/environment.h"

enum { PASSES_MAX = 8 }; /* a process that is killed may have started another one meanwhile */

static const char TOKEN[] = "WEIR_TOKEN", RANK[] = "WEIR_RANK", ATTENDED[] = "WEIR_ATTENDED";

/* "NAME=value" */
struct trainer {
    const char *token, *rank;
};

static const char *find(char *const *env, const char *name)
{
    for (size_t i = 0; env != NULL && env[i] != NULL; i++)
        if (weir_variable_is(env[i], name))
            return env[i];
    return NULL;
}

static bool is_stray(const void *owner, struct weir_environment environment)
{
    const struct trainer *trainer = owner;
    return weir_str_equal(weir_environment_find(environment, TOKEN), trainer->token) &&
           weir_str_equal(weir_environment_find(environment, RANK), trainer->rank) &&
           weir_environment_find(environment, ATTENDED) == NULL;
}

void orchestrator_strays_end(char *const *env)
{
    const struct trainer trainer = {find(env, TOKEN), find(env, RANK)};

    if (trainer.token == NULL || trainer.rank == NULL)
        return;
    for (int i = 0; i < PASSES_MAX && weir_strays_kill(is_stray, &trainer) > 0; i++)
        continue;
}
