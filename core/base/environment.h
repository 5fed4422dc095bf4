/* Variables of processes, "NAME=value", and processes that are known by theirs: what has a session of its own is in no
 * process group that could be killed, but has inherited its environment. */
#ifndef WEIR_BASE_ENVIRONMENT_H
#define WEIR_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* True of "NAME=value" of that name. */
bool weir_variable_is(const char *variable, const char *name);

/* The environment of a process: texts that end with 0, of which the last one may be cut off. */
struct weir_environment {
    const char *at;
    size_t size;
};

/* Returns its variable of that name; NULL: there is none, or it is cut off. */
const char *weir_environment_find(struct weir_environment environment, const char *name);

typedef bool weir_stray_fn(const void *owner, struct weir_environment environment);
/* Kills all processes of this machine, this one excepted, whose first 64 KiB of environment `is_stray` takes for one.
 * Returns how many, some perhaps once more: what was killed takes a moment to be gone, and may have started others
 * before, so who wants all of them gone calls it until it returns 0. */
size_t weir_strays_kill(weir_stray_fn *is_stray, const void *owner);

#endif
