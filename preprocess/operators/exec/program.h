/* A program of the user as a process of its own, which is asked through two pipes: one question at a time, answered by
 * its standard output. It has a process group, no privileges to gain, no core file, as much address space as is
 * allowed, and dies with the worker, as do the processes that it has started (strays.h). What it says on standard error
 * goes to the worker's log, PROGRAM_WORDS_BYTES_MAX at most.
 *
 * Waiting is cut into pieces: nobody is kept from the loop for longer than PROGRAM_PATIENCE_MS. Owned by: one operator,
 * in a process that ignores SIGPIPE. */
#ifndef WEIR_PREPROCESS_OPERATORS_EXEC_PROGRAM_H
#define WEIR_PREPROCESS_OPERATORS_EXEC_PROGRAM_H

#include "core/service/programs.h"
#include "preprocess/operators/exec/strays.h"

#include <sys/types.h>

enum {
    PROGRAM_PATIENCE_MS = 200,
    PROGRAM_ANSWER_BYTES_MAX = 512 << 20,
    PROGRAM_WORDS_BYTES_MAX = 64 << 10, /* in all its lives */
};

/* How far a question has come. */
enum program_state {
    PROGRAM_WAITS,    /* ask on */
    PROGRAM_ANSWERED, /* program->answer holds it */
    PROGRAM_DIED, /* it ended, was silent for too long, or said what it may not: program->reason */
};

struct program {
    const struct weir_allowed *allowed;
    pid_t pid; /* 0: it does not run */
    char mark[STRAYS_MARK_MAX];
    int rules; /* of its jail, while it is started */
    int to, from;
    int life;                 /* readable when it has ended, whoever holds its pipes */
    int words;                /* its standard error; -1: it has closed that */
    size_t said;              /* bytes of it */
    struct weir_buf question; /* bytes that are still to be written: from `written` on */
    size_t written;
    struct weir_buf answer; /* of the question under way, as far as it has come */
    uint64_t key;           /* of the question under way; 0: none is */
    int64_t deadline_ms;
    bool hung; /* it died of that: no answer came in time */
    char reason[64];
};

/* Zeroed but for `allowed` is ready. Kills it. */
void program_stop(struct program *program);
void program_fini(struct program *program);
/* Asks `program->question`, whole, under a name that is not 0; starts the program if it does not run. A question of
 * another name that is still under way is given up, with the program. */
enum program_state program_ask(struct program *program, uint64_t key);
/* Waits on for the answer of the question under way. */
enum program_state program_wait(struct program *program);

#endif
