/* A jail that is entered on another machine: `orchestrator confined RULE… -- COMMAND…` locks itself in there and
 * becomes the command. */
#ifndef ORCHESTRATOR_PROCESSES_CONFINED_H
#define ORCHESTRATOR_PROCESSES_CONFINED_H

#include "core/base/jail.h"

#include <stddef.h>

#define ORCHESTRATOR_CONFINED "confined"

/* Hands out the rules of a jail one by one, "--" at the end. Nothing in them is secret. */
void orchestrator_confined_words(const struct weir_jail *jail,
                                 void (*add)(void *owner, const char *word), void *owner);
/* With the words that follow ORCHESTRATOR_CONFINED. Does not return when the command was started; else the exit code,
 * after a word on stderr. */
int orchestrator_confined(size_t count, char **words);

#endif
