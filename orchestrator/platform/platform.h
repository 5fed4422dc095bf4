/* Local mode: everything Weir needs on one machine, as children of this process. Opens the data
 * directory, starts a private Postgres, then the services, keeps them running, and the workers and
 * trainers that it is asked for, and stops them in the reverse order. Asynchronous on the loop.
 *
 * Started as root, orchestrator_platform_start() ends with this process and all its children running as the
 * data directory's user: open what only root may read before (docs/decisions/003-privileges.md). */
#ifndef ORCHESTRATOR_PLATFORM_PLATFORM_H
#define ORCHESTRATOR_PLATFORM_PLATFORM_H

#include "core/base/error.h"
#include "core/loop/loop.h"
#include "orchestrator/platform/program.h"

struct launcher_process;
struct listen_address;
struct launching;

struct orchestrator_platform_options {
    const char *data_dir;         /* made when absent */
    const char *user;             /* to run as when started as root; NULL: chosen */
    const char *bin_dir;          /* of the services; NULL: where this program lies */
    const char *postgres;         /* conninfo of a server that runs already; NULL: a private one */
    const char *postgres_bin_dir; /* NULL: the newest Postgres installed */
    /* of workers and trainers; outlives the platform; NULL: local */
    const struct launching *launching;
    const char *log_level; /* of the children; NULL: their default */
    bool has_tcp;          /* trainers get batches over TCP */
    /* where services listen to those elsewhere; outlives the platform; NULL: nowhere */
    const struct listen_address *remote;
    uint64_t batches_memory; /* of batches on their way and waiting; 0: any */
    int64_t patience_ms;     /* with a start that comes no further; 0: a minute */
};

/* Called from the loop, never from inside a call below. */
struct orchestrator_platform_events {
    void *owner;
    /* Every service has answered `health`. */
    void (*ready)(void *owner);
    /* The platform cannot come up: `err` says why in one line. Stop it then. Once, and never after ready. */
    void (*failed)(void *owner, const struct weir_error *err);
    /* After orchestrator_platform_stop(): no child is left. */
    void (*stopped)(void *owner);
};

struct orchestrator_platform;

/* LIMIT when the data directory is in use, NOT_FOUND when Postgres is not installed, … each text
 * complete for a person. Call on the main thread before anything else starts threads; the loop
 * outlives the platform. */
enum weir_status orchestrator_platform_start(struct weir_loop *loop,
                                             const struct orchestrator_platform_options *options,
                                             const struct orchestrator_platform_events *events,
                                             struct orchestrator_platform **ret_platform,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Trainers and workers first, then services, then Postgres. Calling it again changes nothing. */
void orchestrator_platform_stop(struct orchestrator_platform *platform);
/* Kills what still runs. */
void orchestrator_platform_free(struct orchestrator_platform *platform);
WEIR_DEFINE_AUTO(orchestrator_platform, orchestrator_platform_free)

/* Starts them through the launcher of their place with --data-dir, --socket-dir and --name, and no way to Postgres. */
enum weir_status orchestrator_platform_launch(struct orchestrator_platform *platform,
                                              const struct orchestrator_programs *programs,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Takes up those that an earlier process has started, if there are any of them: NOT_FOUND. */
enum weir_status orchestrator_platform_adopt(struct orchestrator_platform *platform,
                                             const struct orchestrator_programs *programs,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Fills up to `max` of all processes that a launcher has; returns how many there are. */
size_t orchestrator_platform_list(const struct orchestrator_platform *platform,
                                  struct launcher_process *processes, size_t max);
/* As orchestrator_supervisor_rename(), of a process wherever it is. */
enum weir_status orchestrator_platform_rename(struct orchestrator_platform *platform,
                                              const char *from, const char *to,
                                              struct weir_error *err) WEIR_MUST_USE;
void orchestrator_platform_end(struct orchestrator_platform *platform, const char *name,
                               int64_t grace_ms);

const char *orchestrator_platform_data_dir(
    const struct orchestrator_platform *platform); /* absolute */
const char *orchestrator_platform_socket_dir(const struct orchestrator_platform *platform);
const char *orchestrator_platform_postgres(
    const struct orchestrator_platform *platform); /* conninfo */
/* The folder of the private Postgres; NULL: the server is somebody else's. */
const char *orchestrator_platform_cluster(const struct orchestrator_platform *platform);
struct orchestrator_supervisor *orchestrator_platform_supervisor(
    struct orchestrator_platform *platform); /* for status */

/* The directory of this executable, in caller's memory. */
char *orchestrator_platform_own_directory(void) WEIR_MUST_USE;

#endif
