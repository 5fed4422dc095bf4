/* Rules as words: KIND=PATH, and sockets=WHICH. */
#include "orchestrator/processes/confined.h"

#include "core/base/bytes.h"
#include "core/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PLACES_MAX = 8, EXIT_NOT_STARTED = 126 };
enum kind { CLOSED, OPEN, READABLE, HIDDEN, SHOWN, SOCKETS, KINDS };

static const char *const NAMES[KINDS] = {"closed", "open",  "readable",
                                         "hidden", "shown", "sockets"};
static const char *const WHICH[] = {"none", "local", "all"}; /* by enum weir_jail_sockets */

/* Lists that end with NULL. */
struct rules {
    const char *at[KINDS][PLACES_MAX + 1];
};

void orchestrator_confined_words(const struct weir_jail *jail,
                                 void (*add)(void *owner, const char *word), void *owner)
{
    const char *const shown[] = {jail->shown, NULL};
    const char *const sockets[] = {WHICH[jail->sockets], NULL};
    const char *const *const lists[KINDS] = {jail->closed, jail->open, jail->readable,
                                             jail->hidden, shown,      sockets};
    for (size_t kind = 0; kind < KINDS; kind++)
        for (const char *const *at = lists[kind]; at != NULL && *at != NULL; at++) {
            WEIR_AUTO_BUF word = {0};
            weir_buf_printf(&word, "%s=%s", NAMES[kind], *at);
            add(owner, weir_buf_text(&word));
        }
    add(owner, "--");
}

static bool take(struct rules *rules, const char *word)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        size_t size = strlen(NAMES[kind]), count = 0;
        if (strncmp(word, NAMES[kind], size) != 0 || word[size] != '=')
            continue;
        while (rules->at[kind][count] != NULL)
            count++;
        if (count == PLACES_MAX)
            return false;
        rules->at[kind][count] = word + size + 1;
        return true;
    }
    return false;
}

/* Strictest where it is not said. */
static enum weir_jail_sockets sockets_of(const struct rules *rules)
{
    const char *word = rules->at[SOCKETS][0];
    for (size_t i = 0; word != NULL && i < WEIR_COUNT(WHICH); i++)
        if (strcmp(word, WHICH[i]) == 0)
            return (enum weir_jail_sockets)i;
    return WEIR_JAIL_NO_SOCKETS;
}

/* On a machine without these directories there are no sockets in them. */
static bool are_here(const char *const *directories)
{
    for (; *directories != NULL; directories++)
        if (access(*directories, F_OK) != 0)
            return false;
    return true;
}

/* As far as this machine can hold it; what it cannot is said, as the platform does for its own host. */
static struct weir_jail jail_of(const struct rules *rules)
{
    struct weir_jail jail = {
        .closed = rules->at[CLOSED],
        .open = rules->at[OPEN],
        .readable = rules->at[READABLE],
        .sockets = sockets_of(rules),
    };
    if (!weir_jail_is_possible())
        weir_log(WEIR_LOG_WARN,
                 "programs of the user are not jailed: they may read all of the data directory",
                 "because=\"the kernel of this node has no Landlock\"");
    if (rules->at[HIDDEN][0] == NULL || !are_here(rules->at[HIDDEN]))
        return jail;
    jail.hidden = rules->at[HIDDEN];
    jail.shown = rules->at[SHOWN][0];
    if (!weir_jail_can_hide(&jail)) {
        weir_log(WEIR_LOG_WARN, "trainers can reach sockets of a platform that is on this node",
                 "because=\"user namespaces are not allowed here\"");
        jail.hidden = NULL;
    }
    return jail;
}

static int fail(const char *what, const char *which, const char *why)
{
    (void)fprintf(stderr, "orchestrator: " ORCHESTRATOR_CONFINED ": %s%s: %s\n", what, which, why);
    return EXIT_NOT_STARTED;
}

static int become(const struct rules *rules, char **command)
{
    struct weir_error err;
    const struct weir_jail jail = jail_of(rules);
    int descriptor = -1;
    if (weir_jail_prepare(&jail, &descriptor, &err) != WEIR_OK)
        return fail("no jail", "", err.text);
    int failed = weir_jail_enter(&jail, descriptor);
    if (failed != 0)
        return fail("cannot enter the jail", "", strerror(failed));
    if (descriptor >= 0)
        (void)close(descriptor);
    (void)execv(command[0], command);
    return fail("cannot start ", command[0], strerror(errno));
}

int orchestrator_confined(size_t count, char **words)
{
    struct rules rules = {.at = {{NULL}}};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "--") == 0 && i + 1 < count)
            return become(&rules, words + i + 1);
        if (!take(&rules, words[i]))
            return fail("found ", words[i], "expected a rule, or -- and a command");
    }
    return fail("found ", "nothing", "expected rules, -- and a command");
}
