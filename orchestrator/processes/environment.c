/* Copying the environment, variable by variable. */
#include "orchestrator/processes/environment.h"

#include "core/base/memory.h"
#include "core/service/credentials.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of memory that a program frees, and its allocator keeps. */
enum {
    KEPT_PIECE_BYTES = 32 << 20, /* the most that glibc takes for this option */
    KEPT_BYTES = 256 << 20,
};

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "NAME=value" */
static bool is_secret(const char *variable)
{
    WEIR_AUTO_FREE char *name = weir_strndup(variable, strcspn(variable, "="));
    return weir_credentials_use(name);
}

char **orchestrator_environment_whole(void)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **env = weir_calloc(count + 1, sizeof(*env));
    for (size_t i = 0; i < count; i++)
        env[i] = weir_strdup(environ[i]);
    return env;
}

char **orchestrator_environment_of_service(void)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **env = weir_calloc(count + 1, sizeof(*env));
    for (size_t i = 0; i < count; i++)
        if (!is_secret(environ[i]))
            env[kept++] = weir_strdup(environ[i]);
    return env;
}

char **orchestrator_environment_apart(const char *gpus)
{
    static const char VISIBLE[] = "CUDA_VISIBLE_DEVICES=", LIBPQ[] = "PG", KEY[] = "WEIR_KEY=";
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **env = weir_calloc(count + 2, sizeof(*env));
    for (size_t i = 0; i < count; i++) {
        if (!begins_with(environ[i], LIBPQ) && !begins_with(environ[i], KEY) &&
            !is_secret(environ[i]) && (gpus == NULL || !begins_with(environ[i], VISIBLE)))
            env[kept++] = weir_strdup(environ[i]);
    }
    if (gpus != NULL)
        env[kept] = weir_format("%s%s", VISIBLE, gpus);
    return env;
}

/* Returns the place of the variable `name`, or the end. */
static size_t find(char *const *env, const char *name)
{
    WEIR_AUTO_FREE char *start = weir_format("%s=", name);
    size_t count = 0;

    while (env[count] != NULL && !begins_with(env[count], start))
        count++;
    return count;
}

char **orchestrator_environment_add(char **env, const char *name, const char *value)
{
    size_t count = find(env, name);
    bool is_new = env[count] == NULL;

    if (is_new)
        env = weir_realloc(env, count + 2, sizeof(*env));
    else
        free(env[count]);
    env[count] = weir_format("%s=%s", name, value);
    if (is_new)
        env[count + 1] = NULL;
    return env;
}

static char **add_number(char **env, const char *name, unsigned number)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", number);
    return orchestrator_environment_add(env, name, text);
}

char **orchestrator_environment_keep_memory(char **env)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } BOUNDS[] = {
        {"MALLOC_MMAP_THRESHOLD_", KEPT_PIECE_BYTES},
        {"MALLOC_TRIM_THRESHOLD_", KEPT_BYTES},
    };

    for (size_t i = 0; i < WEIR_COUNT(BOUNDS); i++)
        if (env[find(env, BOUNDS[i].name)] == NULL)
            env = add_number(env, BOUNDS[i].name, BOUNDS[i].bytes);
    return env;
}

char **orchestrator_environment_add_rank(char **env, const struct orchestrator_rank *rank)
{
    env = add_number(env, "WEIR_RANK", rank->rank);
    env = add_number(env, "WEIR_RANKS", rank->ranks);
    env = add_number(env, "RANK", rank->rank);
    env = add_number(env, "WORLD_SIZE", rank->ranks);
    /* Programs take it as the number of their GPU. */
    env = add_number(env, "LOCAL_RANK", rank->has_gpus ? 0 : rank->rank);
    if (rank->port == 0)
        return env;
    env = orchestrator_environment_add(env, "MASTER_ADDR", "127.0.0.1");
    return add_number(env, "MASTER_PORT", rank->port);
}

void orchestrator_environment_free(char **env)
{
    for (size_t i = 0; env != NULL && env[i] != NULL; i++)
        free(env[i]);
    free(env);
}
