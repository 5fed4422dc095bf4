/* A whole platform for a benchmark: private Postgres, services and workers as real processes, in a
 * directory of its own. One thread; its children are not watched between two calls, which is fine
 * for as long as a measurement takes. */
#ifndef BENCHMARKS_RIG_H
#define BENCHMARKS_RIG_H

#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "orchestrator/processes/spawn.h"

#include <sys/types.h>

struct rig;

enum rig_service { RIG_STORAGE, RIG_SELECTOR, RIG_DISPATCHER, RIG_SERVICES };

/* Starts everything and waits until every service answers. Started as root, this process and its
 * children run as an unprivileged user from then on. */
enum weir_status rig_start(const char *directory, unsigned workers, struct rig **ret_rig,
                           struct weir_error *err) WEIR_MUST_USE;
/* The same with batches over TCP of the loopback: workers cannot reach memory of this process, as if it were on another
 * host. */
enum weir_status rig_start_apart(const char *directory, unsigned workers, struct rig **ret_rig,
                                 struct weir_error *err) WEIR_MUST_USE;
/* The same without workers, whose services listen to those elsewhere too, who have keys, at ports of the loopback. */
enum weir_status rig_start_elsewhere(const char *directory, struct rig **ret_rig,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Stops everything in order. */
void rig_stop(struct rig *rig);
WEIR_DEFINE_AUTO(rig, rig_stop)

struct rig_call {
    enum rig_service service;
    enum weir_message type;
    const void *message;
    enum weir_message expected; /* type of the answer */
};
/* Asks and waits. The answer lives in the rig's arena until the next rig_request(). */
enum weir_status rig_request(struct rig *rig, const struct rig_call *call, void *ret_answer,
                             struct weir_error *err) WEIR_MUST_USE;
/* Sends a one-way message. */
void rig_tell(struct rig *rig, enum rig_service service, enum weir_message type,
              const void *message);
/* For requests that are open at the same time: weir_rpc_call() on the peer of a service, and
 * step the loop until they are answered. */
struct weir_rpc_peer *rig_peer(struct rig *rig, enum rig_service service);
void rig_step(struct rig *rig);
pid_t rig_pid(const struct rig *rig, enum rig_service service);
/* Of worker `number`, from 1. */
pid_t rig_worker_pid(const struct rig *rig, unsigned number);
/* CPU time that a service has spent, with all its threads. */
int64_t rig_cpu_ns(const struct rig *rig, enum rig_service service);
/* CPU time that the busiest of its threads has spent: however many cores there are, it takes as long. 0: it is gone. */
int64_t rig_busiest_thread_ns(const struct rig *rig, enum rig_service service);
/* CPU time that a child has spent, with all its threads; 0: it is gone. */
int64_t rig_process_cpu_ns(pid_t pid);
/* CPU time that the worker processes have spent, with all their threads. */
int64_t rig_workers_cpu_ns(const struct rig *rig, unsigned workers);
/* Address of a service for those elsewhere, "tcp://HOST:PORT#KEY", in caller's memory. */
enum weir_status rig_address(const struct rig *rig, enum rig_service service, char **ret_address,
                             struct weir_error *err) WEIR_MUST_USE;
const char *rig_data_dir(const struct rig *rig);
const char *rig_socket_dir(const struct rig *rig);
const char *rig_postgres(const struct rig *rig); /* conninfo */

/* Declares the datasets of a pipeline file and waits until the dataset `name` is scanned. */
enum weir_status rig_scan(struct rig *rig, const char *config, const char *name,
                          struct msg_dataset_is *ret_dataset, struct weir_error *err) WEIR_MUST_USE;

/* Runs to the end, whatever that is: `*ret_ended` is what waitpid() says. */
enum weir_status rig_spawn_ended(const struct orchestrator_spawn *spawn, int *ret_ended,
                                 struct weir_error *err) WEIR_MUST_USE;
/* Runs to the end. IO "PROGRAM failed: LAST LINE OF ITS LOG" unless it exits with 0. */
enum weir_status rig_spawn_wait(const struct orchestrator_spawn *spawn,
                                struct weir_error *err) WEIR_MUST_USE;

#endif
