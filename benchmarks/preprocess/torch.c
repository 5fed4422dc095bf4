/* Running PyTorch. */
#include "benchmarks/preprocess/torch.h"

#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORKERS_MAX = 4, OUTPUT_MAX = 256 };

enum weir_status torch_run(const char *command, double *ret_rate, struct weir_error *err)
{
    char output[OUTPUT_MAX] = "";
    FILE *pipe = popen(command, "re");
    size_t size = pipe != NULL ? fread(output, 1, sizeof(output) - 1, pipe) : 0;
    int code = pipe != NULL ? pclose(pipe) : -1;
    output[size] = '\0';
    *ret_rate = strtod(output, NULL);
    if (code != 0 || !(*ret_rate > 0))
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "PyTorch cannot be measured: install python3-torch and "
                         "python3-torchvision%s%s",
                         size > 0 ? ": " : "", output);
    return WEIR_OK;
}

bool torch_is_there(struct weir_error *err)
{
    double one;

    return torch_run("/usr/bin/python3 -c 'import torch; print(1)' 2>/dev/null", &one, err) ==
           WEIR_OK;
}

enum weir_status torch_choose(const char *script, const char *arguments, char **ret_command,
                              struct weir_error *err)
{
    double best = 0;
    char *fastest = NULL;
    enum weir_status status = WEIR_OK;
    for (int workers = 0; status == WEIR_OK && workers <= WORKERS_MAX; workers++) {
        double rate = 0;
        char *command = weir_format("/usr/bin/python3 %s/benchmarks/preprocess/%s %s %d",
                                    WEIR_SOURCE_DIR, script, arguments, workers);
        status = torch_run(command, &rate, err);
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
