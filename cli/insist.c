/* See insist.h. */
#include "cli/insist.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ANSWER_MAX = 80 };

static bool is_attended(const struct cli_call *call)
{
    return !call->options.json && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

/* A platform that was open has blocked Ctrl-C, which ends the command here. */
static void unblock_signals(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

/* Returns true for y and yes; an end of the input is a no. */
static bool confirm(const char *question)
{
    char answer[ANSWER_MAX] = "";
    unblock_signals();
    (void)fprintf(stderr, "%s [y/N] ", question);
    if (fgets(answer, sizeof(answer), stdin) == NULL)
        (void)fputc('\n', stderr);
    return answer[0] == 'y' || answer[0] == 'Y';
}

bool cli_insist_on_none(const struct cli_call *call, const struct weir_error *err,
                        json_t *arguments)
{
    if (err->status != WEIR_NOT_FOUND || !is_attended(call) ||
        !confirm("weir: no sample has any of these names; go on, and make a receipt that says so?"))
        return false;
    json_object_set_new(arguments, "allow_none", json_true());
    return true;
}
