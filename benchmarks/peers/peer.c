/* Running products of others. */
#include "benchmarks/peers/peer.h"

#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { WORKERS_MAX = 4, OUTPUT_MAX = 256, NOT_THERE = 77 };

/* Returns what waitpid() says of it; `output` receives what it printed, cut off at OUTPUT_MAX. */
static int read_output(const char *command, char output[OUTPUT_MAX])
{
    FILE *pipe = popen(command, "re");
    size_t size = pipe != NULL ? fread(output, 1, OUTPUT_MAX - 1, pipe) : 0;

    output[size] = '\0';
    return pipe != NULL ? pclose(pipe) : -1;
}

enum weir_status peer_run(const char *product, const char *command, double *ret_rate,
                          struct weir_error *err)
{
    char output[OUTPUT_MAX];
    int ended = read_output(command, output);

    *ret_rate = strtod(output, NULL);
    if (ended != 0 || !(*ret_rate > 0))
        return weir_fail(err, WEIR_UNAVAILABLE, "./dev bench peers %s installs it%s%s", product,
                         *output != '\0' ? ": " : "", output);
    return WEIR_OK;
}

enum weir_status peer_train(const char *product, const char *command,
                            struct peer_training *ret_training, struct weir_error *err)
{
    char output[OUTPUT_MAX];
    int ended = read_output(command, output);

    if (WIFEXITED(ended) && WEXITSTATUS(ended) == NOT_THERE)
        return weir_fail(err, WEIR_UNAVAILABLE, "./dev bench peers %s installs it", product);
    if (ended != 0 || sscanf(output, "%lf %lf", &ret_training->rate, &ret_training->quality) != 2)
        return weir_fail(err, WEIR_INTERNAL, "%s: expected rate and quality, found '%s'", command,
                         output);
    return WEIR_OK;
}

enum weir_status peer_need_module(const char *product, const char *module, struct weir_error *err)
{
    WEIR_AUTO_FREE char *command =
        weir_format("/usr/bin/python3 -c 'import %s; print(1)' 2>/dev/null", module);
    double one;

    return peer_run(product, command, &one, err);
}

enum weir_status peer_need_numpy(void *state, struct weir_error *err)
{
    (void)state;
    return peer_need_module("numpy", "numpy", err);
}

char *peer_command(const char *script, const char *arguments)
{
    return weir_format("PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 %s/benchmarks/peers/%s %s",
                       WEIR_SOURCE_DIR, script, arguments);
}

enum weir_status peer_choose(const char *product, const char *script, const char *arguments,
                             char **ret_command, struct weir_error *err)
{
    double best = 0;
    char *fastest = NULL;
    enum weir_status status = WEIR_OK;
    for (int workers = 0; status == WEIR_OK && workers <= WORKERS_MAX; workers++) {
        double rate = 0;
        WEIR_AUTO_FREE char *all = weir_format("%s %d", arguments, workers);
        char *command = peer_command(script, all);
        status = peer_run(product, command, &rate, err);
        if (rate <= best) {
            free(command);
            continue;
        }
        free(fastest);
        fastest = command;
        best = rate;
    }
    if (status == WEIR_OK)
        *ret_command = fastest;
    else
        free(fastest);
    return status;
}
