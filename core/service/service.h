/* main() of every service: options, log, signals, loop, health, orderly stop, exit codes. A service
 * is one const table; everything that differs between two services stands in it.
 *
 * Exit codes: 0 done, 2 bad usage or configuration, 1 failed, 3 cannot start and never will as things are, 75 of a
 * trainer that the platform has not answered in time. */
#ifndef WEIR_SERVICE_SERVICE_H
#define WEIR_SERVICE_SERVICE_H

#include "core/base/error.h"
#include "core/config/complaints.h"
#include "core/config/yaml.h"
#include "core/loop/loop.h"
#include "core/rpc/rpc.h"

/* Exit code for whoever would start the process again: it would end the same way. */
enum { WEIR_EXIT_HOPELESS = 3 };

/* Exit code of a trainer that has waited in vain for an answer of the platform: EX_TEMPFAIL of sysexits.h. */
enum { WEIR_EXIT_UNANSWERED = 75 };

/* Options that the supervisor gives each child; the same options everywhere. */
struct weir_service_options {
    const char *data_dir;   /* --data-dir */
    const char *socket_dir; /* --socket-dir: where ipc endpoints live, 0700 */
    const char *postgres;   /* --postgres: libpq conninfo; NULL: connects to no database */
    const char *name;       /* --name: which of several equal processes this is ("worker-1") */
    const char *log_level;  /* --log-level */
    const char *run;        /* --run: the number of the run a trainer serves */
    const char *listen;     /* --listen: endpoint for trainers, in place of their socket; or NULL */
    const char *keep;       /* --keep: BYTES:HOW of rows that workers keep of samples; NULL: none */
    const char *share;      /* --share: BYTES of batches that several jobs need; or NULL */
    const char *memory;     /* --memory: BYTES of batches on their way and waiting; or NULL: any */
    const char *compress;   /* --compress: how a worker compresses batches; NULL: none */
    const char *place;      /* --place: of a worker: pool, or host, that of the trainers; or NULL */
    const char *remote;     /* --remote: endpoint for those elsewhere who have keys; or NULL */
    const char *key;        /* --key: pass of a process that is elsewhere itself; NULL: it is not */
    const char *platform;   /* --platform: where the platform is, if not where its pass says */
    const char *advertise;  /* --advertise: host by which others reach `listen` or `remote` */
};

/* Reads an option that is a number of bytes; `text` NULL: it was not given, and is `fallback`. INVALID. */
enum weir_status weir_service_read_bytes(const char *option, const char *text, uint64_t fallback,
                                         uint64_t *ret_bytes, struct weir_error *err) WEIR_MUST_USE;

/* A check of a pipeline file against what is there: its data, and what other programs make of it. */
struct weir_look {
    const struct weir_yaml_node *root;
    struct weir_bytes found; /* JSON, by the program that was asked before */
    struct weir_buf *out;    /* JSON, for the next one */
    struct cfg_complaints *complaints;
};

/* The sections of a pipeline file that a service owns. All functions are optional. */
struct weir_service_sections {
    /* `--check-config FILE`. */
    void (*check)(const struct weir_yaml_node *root, struct cfg_complaints *complaints);
    /* Remarks on what is allowed in a good file but may not be meant, a line each. */
    void (*remark)(const struct weir_yaml_node *root, struct weir_buf *out);
    /* Appends what a good file means for other services, as JSON: {tensors: […]}, on standard output. */
    void (*facts)(const struct weir_yaml_node *root, struct weir_buf *out);
    /* Checks the sections, after check(), against what other programs have found (`--found`). */
    void (*look)(const struct weir_look *look);
    /* `--print-config FILE`: effective values. */
    enum weir_status (*print)(const struct weir_yaml_node *root, struct weir_buf *out,
                              struct weir_error *err);
    /* `--describe-config`: reference documentation. */
    void (*describe)(struct weir_buf *out);
};

struct weir_service {
    const char *name; /* "storage": also the default of --name and of the endpoint storage.sock */
    const char *summary;                     /* one sentence for --help */
    const char *example;                     /* one command line for --help */
    const struct weir_rpc_handler *handlers; /* NULL: binds no endpoint */
    unsigned roles;    /* senders that it listens to, a weir_role each; 0: the platform alone */
    bool lends_memory; /* others have to reach its descriptors (core/base/dumps.h) */
    struct weir_service_sections sections; /* empty: it owns none */

    /* Required. Builds the state; `server` is bound but not yet polled. */
    enum weir_status (*open)(const struct weir_service_options *options, struct weir_loop *loop,
                             struct weir_rpc_server *server, void **ret_state,
                             struct weir_error *err);
    void (*close)(void *state);
    /* Optional. Returns the exit code, once the loop has stopped. For processes that end by themselves. */
    int (*exit_code)(const void *state);
    /* Optional. Answers requests while a handler waits (weir_rpc_serve_meanwhile()), once open() is over. */
    bool (*meanwhile)(void *state, struct weir_request *request);
    /* Optional. Drops what is kept for speed and may hold samples or names, connects its peers and its database again,
     * and adds what it can say of other processes. Called for every `wipe`: obeys each number once. */
    void (*wipe)(void *state, const struct weir_request *request, struct msg_wiped *answer);
    /* Optional. Hears that the keyring of its server has changed, to hand it on. */
    void (*keys)(void *state, const struct weir_keyring *keyring);
};

/* Runs until SIGTERM or SIGINT, or until the loop is stopped. Answers `health`, `wipe` and `keys_set` by itself. Writes
 * the readiness line "ready NAME ENDPOINT" to the log once open() succeeded. */
int weir_service_main(const struct weir_service *service, int argc, char **argv);

/* "ipc://DIR/NAME.sock" in caller's memory; the endpoint of the service or worker NAME. */
char *weir_service_endpoint(const char *socket_dir, const char *name) WEIR_MUST_USE;
/* "DIR/trainer" in caller's memory: the socket directory that trainers are given. */
char *weir_service_trainer_dir(const char *socket_dir) WEIR_MUST_USE;
/* A peer as it is to be connected: see weir_service_connect(). */
struct weir_service_connection {
    const struct weir_service_options *options;
    const char *service; /* "orchestrator", "storage", "selector" or "dispatcher" */
    struct weir_loop *loop;
    const struct weir_rpc_handler *handlers; /* of one-way messages, or NULL */
    void *owner;
    struct weir_rpc_peer **ret_peer;
    struct weir_error *err;
};
/* Connects a process to a service: weir_service_connect(options, service, loop, handlers, owner, ret_peer, err). By its
 * socket, unless the process has a pass, and so is elsewhere: then over TCP, under the key of the pass. Errors are
 * those of weir_pass_read() and weir_rpc_connect(). */
#define weir_service_connect(...) \
    weir_service_connect_to(&(const struct weir_service_connection){__VA_ARGS__})
enum weir_status weir_service_connect_to(const struct weir_service_connection *connection)
    WEIR_MUST_USE;
/* "DIR/keys/platform" in caller's memory: where the data directory has the platform's own pair of keys. */
char *weir_service_pair_path(const char *data_dir) WEIR_MUST_USE;

/* Listens to those elsewhere whose keys are let in, at tcp://HOST:PORT; proves the platform's own pair, and makes that
 * when there is none. `advertise` (NULL: HOST) is the host by which others reach it. */
enum weir_status weir_service_listen_remote(struct weir_rpc_server *server, const char *data_dir,
                                            const char *endpoint, const char *advertise,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Listens to PLATFORM at NAME.sock, or to TRAINER at trainer/NAME.sock; makes that directory. */
enum weir_status weir_service_listen(struct weir_rpc_server *server, const char *socket_dir,
                                     const char *name, enum weir_role role,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
