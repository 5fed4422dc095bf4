/* Processes that a program of the user has started and that outlive it: a daemon with a session of its own is in no
 * process group that could be killed. They inherit the environment of the program: a mark in it names the process
 * of ours that started the program, so that they are found wherever they have gone, also by the successor of a
 * worker that was killed. A process that clears its environment and leaves its process group is not found. */
#ifndef WEIR_PREPROCESS_OPERATORS_EXEC_STRAYS_H
#define WEIR_PREPROCESS_OPERATORS_EXEC_STRAYS_H

enum { STRAYS_MARK_MAX = 112 };

/* Writes the environment variable, NAME=VALUE, of a program about to be started; different each time. */
void preprocess_strays_mark(char mark[STRAYS_MARK_MAX]);
/* Kills all processes that have this mark, with those that they start meanwhile. */
void preprocess_strays_end(const char *mark);
/* The same for programs of processes of this machine that have ended. */
void preprocess_strays_end_of_the_dead(void);

#endif
