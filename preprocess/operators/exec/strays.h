/* Processes that a program of the user has started and that outlive it: a daemon with a session of its own is in no
 * process group that could be killed. What a program starts inherits its environment: a mark in there says which
 * process of ours started the program, so that they are found wherever they have gone, also by whoever comes after a
 * worker that was killed. Who clears its environment and leaves its process group is not found. */
#ifndef WEIR_PREPROCESS_OPERATORS_EXEC_STRAYS_H
#define WEIR_PREPROCESS_OPERATORS_EXEC_STRAYS_H

enum { STRAYS_MARK_MAX = 112 };

/* The environment variable of a program that this process is about to start, NAME=VALUE; another one each time. */
void strays_mark(char mark[STRAYS_MARK_MAX]);
/* kill -9 of all processes that have this mark, those that they start meanwhile included. */
void strays_end(const char *mark);
/* The same for programs of processes of this machine that are no more. */
void strays_end_of_the_dead(void);

#endif
