/* Waiting for a server that was started just now. */
#ifndef WEIR_TESTS_SUPPORT_POSTGRES_READY_H
#define WEIR_TESTS_SUPPORT_POSTGRES_READY_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

enum { POSTGRES_READY_MAX_MS = 120000, POSTGRES_READY_STEP_MS = 5 };

/* Returns false when no server answers in time, or its process `server` has ended; 0: it is no child of this one. */
static inline bool postgres_await(const char *conninfo, pid_t server)
{
    for (int waited = 0; waited < POSTGRES_READY_MAX_MS; waited += POSTGRES_READY_STEP_MS) {
        if (PQping(conninfo) == PQPING_OK)
            return true;
        if (server != 0 && waitpid(server, NULL, WNOHANG) != 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = POSTGRES_READY_STEP_MS * 1000000L}, NULL);
    }
    return false;
}

#endif
