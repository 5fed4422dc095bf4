/* A program of the user as a process of its own, reached through two pipes: one request at a time, answered on its
 * standard output. It has a process group, no privileges to gain, no core file, as much address space as is
 * allowed, and dies with the worker, as do the processes that it has started (strays.h). Its standard error
 * goes to the worker's log, PROGRAM_WORDS_BYTES_MAX at most; its last line there is told beside how it ended.
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
    PROGRAM_REASON_MAX = 144,           /* with the last line, as much of it as has room */
    PROGRAM_LINE_MAX = 96,
};

/* Progress of a request. */
enum program_state {
    PROGRAM_WAITS,    /* call preprocess_program_wait() again */
    PROGRAM_ANSWERED, /* program->answer holds it */
    PROGRAM_DIED, /* it ended, was silent for too long, or broke the protocol: program->reason */
};

struct program {
    const struct weir_allowed *allowed;
    pid_t pid; /* 0: it does not run */
    char mark[STRAYS_MARK_MAX];
    int rules; /* of its jail, while it is started */
    int to, from;
    int life;    /* readable when it has ended, even if another process holds its pipes */
    int words;   /* its standard error; -1: it has closed that */
    size_t said; /* bytes of it */
    /* the newest line there that is not blank, without its end if it is long, '?' for what cannot be printed */
    char last_line[PROGRAM_LINE_MAX];
    bool is_line_over;
    struct weir_buf request; /* bytes that are still to be written: from `written` on */
    size_t written;
    struct weir_buf answer; /* of the request under way, as far as it has come */
    uint64_t key;           /* of the request under way; 0: none */
    int64_t deadline_ms;
    int64_t ended_ns; /* CPU time of its lives that are over */
    bool hung;        /* it was killed because no answer came in time */
    char reason[PROGRAM_REASON_MAX];
};

/* Kills one that has failed; its last line is added to the reason. */
void preprocess_program_give_up(struct program *program);
/* Kills it. Zeroed but for `allowed` is ready. */
void preprocess_program_fini(struct program *program);
/* Sends `program->request`, a whole request, under a key > 0; starts the program if it does not run. A request of
 * another key that is still under way is given up, with the program. */
enum program_state preprocess_program_request(struct program *program, uint64_t key);
/* Goes on waiting for the answer to the request under way. */
enum program_state preprocess_program_wait(struct program *program);
/* Returns the CPU time of all its lives; processes that it has started count once they have ended. */
int64_t preprocess_program_cpu_ns(const struct program *program);

#endif
