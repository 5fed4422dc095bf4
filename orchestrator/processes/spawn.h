/* fork and exec, done once and carefully: own session, dropped privileges, death with the parent,
 * clean signals, output to a log file. Call from the main thread only: the parent-death signal
 * fires when the thread that forked ends. */
#ifndef ORCHESTRATOR_PROCESSES_SPAWN_H
#define ORCHESTRATOR_PROCESSES_SPAWN_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "orchestrator/processes/identity.h"

#include <sys/types.h>

struct weir_jail;

struct orchestrator_spawn {
    const struct weir_jail *jail; /* NULL: none */
    char *const *argv;            /* argv[0] is a path; NULL-terminated */
    char *const *env;             /* NULL: the caller's environment */
    const char *input;            /* its standard input, at most 4096 bytes; NULL: empty */
    const char *directory;        /* NULL: the caller's */
    const char *log_path;         /* stdout and stderr are appended here */
    const struct orchestrator_identity *identity; /* NULL: stay who we are */
    int death_signal;                             /* sent when the parent dies; 0: SIGKILL */
    unsigned core; /* the only one that it runs on, counted from 1; 0: any */
};

/* Returns once the program runs. NOT_FOUND or IO when it cannot be started, with its path; LIMIT for an input that
 * is too long. */
enum weir_status orchestrator_spawn(const struct orchestrator_spawn *spawn, pid_t *ret_pid,
                                    struct weir_error *err) WEIR_MUST_USE;

/* Keeps a log that programs are writing to within `bytes_max`: its newest `bytes_max` bytes become PATH.1, in the place
 * of those before, and it begins at 0. What is written in the midst of this may be lost. */
void orchestrator_log_bound(const char *path, int64_t bytes_max);

/* A log that a program is writing to gets another name, and begins at 0; what it holds stays under the old one. What is
 * written in the midst of this may be lost. */
void orchestrator_log_hand_over(const char *from, const char *to);

/* The last line of a log file that says something (a line with FATAL or error before others), for
 * messages about a program that ended; that the disk is full, if nothing is there for that; "" when
 * there is none. */
void orchestrator_log_last_line(const char *log_path, char *text, size_t size);
/* The complaint of such a line: its last field, if that is error="…" (core/base/log.h); else all of it. */
struct weir_bytes orchestrator_log_complaint(const char *line);
/* "exit code 1", "killed by signal 9 (Killed)". */
void orchestrator_wait_status_text(int wait_status, char *text, size_t size);

#endif
