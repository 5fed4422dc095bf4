/* Copying the environment, variable by variable. */
#include "orchestrator/platform/environment.h"

#include "core/base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

char **weir_environment_apart(const char *gpus)
{
    static const char VISIBLE[] = "CUDA_VISIBLE_DEVICES=", LIBPQ[] = "PG";
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **env = weir_calloc(count + 2, sizeof *env);
    for (size_t i = 0; i < count; i++) {
        if (!begins_with(environ[i], LIBPQ) && (gpus == NULL || !begins_with(environ[i], VISIBLE)))
            env[kept++] = weir_strdup(environ[i]);
    }
    if (gpus != NULL)
        env[kept] = weir_format("%s%s", VISIBLE, gpus);
    return env;
}

void weir_environment_free(char **env)
{
    for (size_t i = 0; env[i] != NULL; i++)
        free(env[i]);
    free(env);
}
