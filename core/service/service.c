/* The common part of all services, from the command line to the exit code. */
#include "core/service/service.h"

#include "core/base/clock.h"
#include "core/base/dumps.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/config/schema.h"
#include "core/db/db.h"
#include "core/rpc/pass.h"
#include "core/service/options.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    SOCKET_DIR_MODE = 0700,
    KEYS_DIR_MODE = 0700,
    OWN_MESSAGES = 3,
    FOUND_BYTES_MAX = 16 << 20,
    /* thousands may come at once from elsewhere, which one takes too long for */
    REMOTE_IO_THREADS = 2,
};

/* Everything the command line may say. */
struct command {
    struct weir_service_options options;
    const char *check_config;
    const char *print_config;
    bool found;
    bool describe_config;
    bool help;
    bool version;
};

#define OPTION(member) offsetof(struct command, member)
static const struct weir_option OPTIONS[] = {
    {"data-dir", "DIR", "data directory", OPTION(options.data_dir)},
    {"socket-dir", "DIR", "directory of the sockets", OPTION(options.socket_dir)},
    {"postgres", "CONNINFO", "connection string of Postgres; -: read from standard input",
     OPTION(options.postgres)},
    {"name", "NAME", "name among several equal processes", OPTION(options.name)},
    {"log-level", "LEVEL", "debug, info, warn or error", OPTION(options.log_level)},
    {"run", "N", "the run to serve (trainer)", OPTION(options.run)},
    {"listen", "ENDPOINT", "tcp://127.0.0.1:* for trainers, not a socket", OPTION(options.listen)},
    {"remote", "ENDPOINT", "tcp://HOST:PORT for those elsewhere who have keys",
     OPTION(options.remote)},
    {"key", "FILE", "pass of a process that is not where the platform is (worker)",
     OPTION(options.key)},
    {"platform", "ENDPOINT", "where the platform is, if not where the pass says (worker)",
     OPTION(options.platform)},
    {"advertise", "HOST", "by which others reach what it listens at", OPTION(options.advertise)},
    {"compress", "HOW", "batches: none, lz4 or zstd (worker)", OPTION(options.compress)},
    {"keep", "BYTES:HOW", "rows of samples that are kept, and none, lz4 or zstd (worker)",
     OPTION(options.keep)},
    {"share", "BYTES", "memory for batches that several jobs need (worker)", OPTION(options.share)},
    {"place", "PLACE", "pool (default), or host: it runs beside the trainers (worker)",
     OPTION(options.place)},
    {"memory", "BYTES", "of batches on their way to trainers, and waiting there (dispatcher)",
     OPTION(options.memory)},
    {"check-config", "FILE", "check the sections this service owns", OPTION(check_config)},
    {"found", NULL,
     "with --check-config: against the data, and what others have found, as JSON on standard input",
     OPTION(found)},
    {"print-config", "FILE", "print their effective values", OPTION(print_config)},
    {"describe-config", NULL, "print their reference", OPTION(describe_config)},
    {"help", NULL, "print this", OPTION(help)},
    {"version", NULL, "print the version", OPTION(version)},
    WEIR_OPTION_END,
};
#undef OPTION

/* A service while it runs. */
struct running {
    const struct weir_service *service;
    const struct weir_service_options *options;
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    /* the service's messages and OWN, all by way of on_request() */
    struct weir_rpc_handler *handlers;
    void *state;
    uint64_t session;
    int64_t started_ms;
    int signal_fd;
};

char *weir_service_endpoint(const char *socket_dir, const char *name)
{
    return weir_format("ipc://%s/%s.sock", socket_dir, name);
}

char *weir_service_trainer_dir(const char *socket_dir)
{
    return weir_format("%s/trainer", socket_dir);
}

enum weir_status weir_service_listen(struct weir_rpc_server *server, const char *socket_dir,
                                     const char *name, enum weir_role role, struct weir_error *err)
{
    WEIR_AUTO_FREE char *directory =
        role == WEIR_ROLE_TRAINER ? weir_service_trainer_dir(socket_dir) : weir_strdup(socket_dir);
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(directory, name);
    enum weir_status status = weir_make_directories(directory, SOCKET_DIR_MODE, err);
    return status == WEIR_OK ? weir_rpc_listen(server, endpoint, role, err) : status;
}

char *weir_service_pair_path(const char *data_dir)
{
    return weir_format("%s/keys/platform", data_dir);
}

enum weir_status weir_service_listen_remote(struct weir_rpc_server *server, const char *data_dir,
                                            const char *endpoint, const char *advertise,
                                            struct weir_error *err)
{
    WEIR_AUTO_FREE char *directory = weir_format("%s/keys", data_dir);
    WEIR_AUTO_FREE char *path = weir_service_pair_path(data_dir);
    struct weir_pair pair;
    enum weir_status status = weir_make_directories(directory, KEYS_DIR_MODE, err);
    if (status == WEIR_OK)
        status = weir_pair_keep(path, &pair, err);
    if (status != WEIR_OK)
        return status;
    const struct weir_rpc_door door = {endpoint, advertise, &pair};
    status = weir_rpc_listen_keyed(server, &door, err);
    weir_pair_fini(&pair);
    if (status == WEIR_OK)
        weir_log(WEIR_LOG_INFO, "lets in those who have keys", "address=%s",
                 weir_rpc_keyed_address(server));
    return status;
}

static enum weir_status connect_elsewhere(const struct weir_service_connection *to)
{
    struct weir_pass pass = {.platform = NULL};
    WEIR_AUTO_FREE char *address = NULL;
    enum weir_status status = weir_pass_read(to->options->key, &pass, to->err);
    if (status == WEIR_OK)
        status = weir_pass_address(&pass, to->options->platform, to->service, &address, to->err);
    if (status == WEIR_OK)
        status = weir_rpc_connect_as(to->loop, address, &pass.pair, to->handlers, to->owner,
                                     to->ret_peer, to->err);
    weir_pass_fini(&pass);
    return status;
}

enum weir_status weir_service_connect_to(const struct weir_service_connection *to)
{
    if (to->options->key != NULL)
        return connect_elsewhere(to);
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(to->options->socket_dir, to->service);
    return weir_rpc_connect(to->loop, endpoint, to->handlers, to->owner, to->ret_peer, to->err);
}

enum weir_status weir_service_read_bytes(const char *option, const char *text, uint64_t fallback,
                                         uint64_t *ret_bytes, struct weir_error *err)
{
    *ret_bytes = fallback;
    if (text == NULL || cfg_parse_u64(text, ret_bytes))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s: expected a number of bytes, found '%s'", option, text);
}

/* ---- what is done without a loop ---- */

static int print_help(const struct weir_service *service)
{
    printf("%s: %s\n\nusage: %s [OPTIONS]\n\n", service->name, service->summary, service->name);
    weir_options_print(OPTIONS);
    printf(
        "\nexample:\n  %s\n\nexit codes: 0 done, 2 bad usage or configuration, 1 failed, 3 cannot "
        "start, and starting again will not help\n",
        service->example);
    return EXIT_DONE;
}

static int complain(const struct weir_service *service, const struct weir_error *err, int code)
{
    /* Complaints about a file begin with its place; others with who complains. */
    fprintf(stderr, "%s: %s\n", service->name, err->text);
    return code;
}

/* Complains of the sections, or remarks on good ones. */
static void check_sections(const struct weir_service *service, const struct weir_yaml_node *root,
                           struct cfg_complaints *complaints)
{
    WEIR_AUTO_BUF remarks = {0};
    if (service->sections.check != NULL)
        service->sections.check(root, complaints);
    if (complaints->status == WEIR_OK && service->sections.remark != NULL)
        service->sections.remark(root, &remarks);
    cfg_note_text(complaints, WEIR_OK, weir_buf_text(&remarks));
}

static void look_at_found(const struct weir_service *service, const struct weir_yaml_node *root,
                          struct cfg_complaints *complaints, struct weir_buf *out)
{
    struct weir_error err;
    WEIR_AUTO_BUF found = {0};
    signal(SIGPIPE, SIG_IGN); /* of programs that operators run */
    if (service->sections.look != NULL &&
        cfg_note(complaints,
                 weir_file_read_open(STDIN_FILENO, "--found", FOUND_BYTES_MAX, &found, &err), &err))
        service->sections.look(&(struct weir_look){root, weir_buf_view(&found), out, complaints});
}

/* Prints what a look has found, good or not; without any, the facts of good sections. */
static int check_file(const struct weir_service *service, const struct weir_yaml_node *root,
                      bool looks, struct cfg_complaints *complaints)
{
    WEIR_AUTO_BUF out = {0};
    check_sections(service, root, complaints);
    bool is_good = complaints->status == WEIR_OK;
    if (looks)
        look_at_found(service, root, complaints, &out);
    if (out.size == 0 && is_good && service->sections.facts != NULL)
        service->sections.facts(root, &out);
    fwrite(out.at, 1, out.size, stdout);
    return complaints->status == WEIR_OK ? EXIT_DONE : EXIT_USAGE;
}

static int check_config(const struct weir_service *service, const struct command *command)
{
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    CFG_AUTO_COMPLAINTS complaints = {0};
    int code = EXIT_USAGE;
    if (cfg_note(&complaints, weir_yaml_load(command->check_config, &document, &err), &err))
        code = check_file(service, weir_yaml_root(document), command->found, &complaints);
    fputs(weir_buf_text(&complaints.lines), stderr); /* of a file that is good: remarks */
    return code;
}

static int print_config(const struct weir_service *service, const char *file)
{
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_BUF out = {0};
    enum weir_status status = weir_yaml_load(file, &document, &err);
    if (status == WEIR_OK && service->sections.print != NULL)
        status = service->sections.print(weir_yaml_root(document), &out, &err);
    if (status != WEIR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return EXIT_USAGE;
    }
    fwrite(out.at, 1, out.size, stdout);
    return EXIT_DONE;
}

static int describe_config(const struct weir_service *service)
{
    WEIR_AUTO_BUF out = {0};
    if (service->sections.describe != NULL)
        service->sections.describe(&out);
    weir_buf_append_text(&out, out.size > 0 ? "\n" : ""); /* what another service says follows */
    fwrite(out.at, 1, out.size, stdout);
    return EXIT_DONE;
}

/* ---- requests ---- */

static void answer_health(struct running *running, const struct weir_request *request)
{
    struct msg_health_is answer = {
        .name = running->options->name,
        .session = running->session,
        .up_ms = weir_now_ms() - running->started_ms,
        .cpu_ns = weir_cpu_ns(),
        .longest_turn_ns = weir_loop_longest_turn_ns(running->loop),
        .turned_away = weir_rpc_turned_away(running->server),
        .strangers = weir_rpc_strangers(running->server),
    };
    weir_rpc_reply(request->server, &request->route, MSG_health_is, &answer, NULL);
}

static void answer_wipe(struct running *running, const struct weir_request *request)
{
    struct msg_wiped answer = {.name = running->options->name, .wipes = weir_memory_wipes()};
    if (running->service->wipe != NULL)
        running->service->wipe(running->state, request, &answer);
    weir_memory_wipe_stack();
    weir_rpc_reply(request->server, &request->route, MSG_wiped, &answer, NULL);
}

static void answer_keys(struct running *running, const struct weir_request *request)
{
    struct weir_error err;
    const struct msg_keys_set *keys = request->message;
    uint64_t number = weir_rpc_keyring(running->server)->number;
    enum weir_status status = weir_rpc_set_keys(running->server, keys, &err);
    const struct weir_keyring *keyring = weir_rpc_keyring(running->server);
    struct msg_keys_noted answer = {.number = keyring->number};
    if (keyring->number != number && running->service->keys != NULL)
        running->service->keys(running->state, keyring);
    weir_rpc_answer(request, status, MSG_keys_noted, &answer, NULL, &err);
}

/* Messages that every service answers. */
static const struct {
    enum weir_message type;
    void (*fn)(struct running *running, const struct weir_request *request);
} OWN[OWN_MESSAGES] = {
    {MSG_health, answer_health}, {MSG_wipe, answer_wipe}, {MSG_keys_set, answer_keys}};

/* All messages come here: the state they are for does not exist yet when the table is bound. */
static void on_request(void *owner, struct weir_request *request)
{
    struct running *running = owner;
    for (size_t i = 0; i < OWN_MESSAGES; i++) {
        if (request->type != OWN[i].type)
            continue;
        OWN[i].fn(running, request);
        return;
    }
    const struct weir_rpc_handler *handler = running->service->handlers;
    while (handler->type != request->type)
        handler++;
    handler->fn(running->state, request);
}

/* The others of its own change what a waiting handler looks at. */
static bool on_meanwhile(void *owner, struct weir_request *request)
{
    struct running *running = owner;
    if (request->type != MSG_health)
        return running->service->meanwhile(running->state, request);
    answer_health(running, request);
    return true;
}

static struct weir_rpc_handler *wrap_handlers(const struct weir_rpc_handler *handlers)
{
    size_t count = 0;
    while (handlers[count].type != MSG_none)
        count++;
    struct weir_rpc_handler *wrapped = weir_calloc(count + OWN_MESSAGES + 1, sizeof(*wrapped));
    for (size_t i = 0; i < OWN_MESSAGES; i++)
        wrapped[i] = (struct weir_rpc_handler){OWN[i].type, on_request};
    for (size_t i = 0; i < count; i++)
        wrapped[OWN_MESSAGES + i] = (struct weir_rpc_handler){handlers[i].type, on_request};
    return wrapped;
}

/* ---- life ---- */

static void on_signal(void *owner)
{
    struct running *running = owner;
    struct signalfd_siginfo info;
    if (read(running->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    weir_log(WEIR_LOG_INFO, "stopping", "signal=%s", strsignal((int)info.ssi_signo));
    weir_loop_stop(running->loop);
}

/* Signals are blocked before the first thread starts, so that none of ZeroMQ's threads takes them. */
static enum weir_status open_signals(struct running *running, struct weir_error *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of who writes it */
    running->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (running->signal_fd < 0)
        return weir_fail(err, WEIR_IO, "signalfd: %s", strerror(errno));
    return WEIR_OK;
}

/* Proves the pair of its pass: it lets in whoever the platform tells it to. */
static enum weir_status listen_from_elsewhere(struct running *running, struct weir_error *err)
{
    const struct weir_service_options *options = running->options;
    struct weir_pass pass = {.platform = NULL};
    if (options->listen == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "--key: expected --listen tcp://HOST:* with it, for trainers");
    enum weir_status status = weir_pass_read(options->key, &pass, err);
    const struct weir_rpc_door door = {options->listen, options->advertise, &pass.pair};
    if (status == WEIR_OK)
        status = weir_rpc_listen_keyed(running->server, &door, err);
    weir_pass_fini(&pass);
    return status;
}

static enum weir_status listen_to_trainers(struct running *running, struct weir_error *err)
{
    const struct weir_service_options *options = running->options;
    if (options->key != NULL)
        return listen_from_elsewhere(running, err);
    if (options->listen != NULL && weir_rpc_leaves_host(options->listen))
        return weir_service_listen_remote(running->server, options->data_dir, options->listen,
                                          options->advertise, err);
    if (options->listen != NULL)
        return weir_rpc_listen(running->server, options->listen, WEIR_ROLE_TRAINER, err);
    return weir_service_listen(running->server, options->socket_dir, options->name,
                               WEIR_ROLE_TRAINER, err);
}

static enum weir_status bind_endpoints(struct running *running, struct weir_error *err)
{
    const struct weir_service_options *options = running->options;
    unsigned roles = running->service->roles;
    enum weir_status status = WEIR_OK;
    running->handlers = wrap_handlers(running->service->handlers);
    running->server = weir_rpc_server_new(running->loop, running->handlers, running);
    if (roles == 0 || (roles & WEIR_ROLE_PLATFORM) != 0)
        status = weir_service_listen(running->server, options->socket_dir, options->name,
                                     WEIR_ROLE_PLATFORM, err);
    if (status == WEIR_OK && (roles & WEIR_ROLE_TRAINER) != 0)
        status = listen_to_trainers(running, err);
    if (status == WEIR_OK && options->remote != NULL)
        status = weir_service_listen_remote(running->server, options->data_dir, options->remote,
                                            options->advertise, err);
    return status;
}

/* Silent connections of strangers hold descriptors until their handshake is over: peers find one beside them. Nothing
 * here calls select(), for which the system's limit is so low. Best effort. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static enum weir_status start(struct running *running, struct weir_error *err)
{
    enum weir_status status = open_signals(running, err);
    if (status != WEIR_OK)
        return status;
    running->loop = weir_loop_new();
    if (running->options->remote != NULL)
        weir_loop_use_io_threads(running->loop, REMOTE_IO_THREADS);
    weir_loop_watch_fd(running->loop, running->signal_fd, POLLIN, on_signal, running);
    if (running->service->handlers != NULL)
        status = bind_endpoints(running, err);
    if (status != WEIR_OK)
        return status;
    status = running->service->open(running->options, running->loop, running->server,
                                    &running->state, err);
    if (status == WEIR_OK && running->service->meanwhile != NULL)
        weir_rpc_serve_meanwhile(running->server, on_meanwhile);
    return status;
}

static void stop(struct running *running)
{
    if (running->state != NULL)
        running->service->close(running->state);
    weir_rpc_server_close(running->server);
    weir_loop_free(running->loop);
    free(running->handlers);
    if (running->signal_fd >= 0)
        close(running->signal_fd);
}

/* Starting again changes nothing about these: a key that is lost, a store of a newer Weir. */
static bool is_hopeless(enum weir_status status)
{
    return status == WEIR_CORRUPT || status == WEIR_UNSUPPORTED || status == WEIR_INVALID;
}

static int run(const struct weir_service *service, const struct weir_service_options *options)
{
    struct weir_error err = {0};
    struct running running = {
        .service = service,
        .options = options,
        .session = weir_random_u64(),
        .started_ms = weir_now_ms(),
        .signal_fd = -1,
    };
    enum weir_status status = start(&running, &err);
    int code = status == WEIR_OK     ? EXIT_DONE
               : is_hopeless(status) ? WEIR_EXIT_HOPELESS
                                     : EXIT_FAILED;
    if (status == WEIR_OK) {
        weir_log(WEIR_LOG_INFO, "ready", "%s %s", options->name,
                 running.server != NULL ? weir_rpc_endpoint(running.server) : "-");
        weir_loop_run(running.loop);
        if (service->exit_code != NULL)
            code = service->exit_code(running.state);
    } else {
        weir_log(WEIR_LOG_ERROR, "cannot start", "error=\"%s\"", err.text);
    }
    stop(&running);
    return code;
}

static enum weir_status check_options(const struct weir_service *service,
                                      struct weir_service_options *options,
                                      enum weir_log_level *ret_level, struct weir_error *err)
{
    if (options->name == NULL)
        options->name = service->name;
    if (options->log_level == NULL)
        options->log_level = "info";
    if (!weir_log_level_from_name(options->log_level, ret_level))
        return weir_fail(err, WEIR_INVALID,
                         "--log-level: expected debug, info, warn or error, found '%s'",
                         options->log_level);
    if (options->data_dir == NULL)
        return weir_fail(err, WEIR_INVALID, "--data-dir is missing: expected the data directory");
    if (options->socket_dir == NULL && options->key == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "--socket-dir is missing: it says where the sockets are");
    return WEIR_OK;
}

/* `--postgres -`: the connection comes by standard input, where neither a list of processes nor an environment shows
 * its password. */
static enum weir_status read_conninfo(struct weir_service_options *options,
                                      char conninfo[static WEIR_CONNINFO_BYTES_MAX + 1],
                                      struct weir_error *err)
{
    if (options->postgres == NULL || strcmp(options->postgres, "-") != 0)
        return WEIR_OK;
    size_t size = fread(conninfo, 1, WEIR_CONNINFO_BYTES_MAX + 1, stdin);
    if (size == 0 || size > WEIR_CONNINFO_BYTES_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "--postgres -: expected 1 to %d bytes on standard input, found %s",
                         WEIR_CONNINFO_BYTES_MAX, size == 0 ? "none" : "more");
    conninfo[size] = '\0';
    conninfo[strcspn(conninfo, "\n")] = '\0';
    options->postgres = conninfo;
    return WEIR_OK;
}

int weir_service_main(const struct weir_service *service, int argc, char **argv)
{
    struct command command = {0};
    struct weir_error err;
    int operands = 0;
    if (weir_options_read(OPTIONS, argc, argv, &command, &operands, &err) != WEIR_OK)
        return complain(service, &err, EXIT_USAGE);
    if (operands > 0) {
        weir_fail(&err, WEIR_INVALID, "unexpected '%.60s': --help says how to call this", argv[0]);
        return complain(service, &err, EXIT_USAGE);
    }
    if (command.help)
        return print_help(service);
    if (command.version) {
        printf("%s (weir) %s\n", service->name, WEIR_VERSION);
        return EXIT_DONE;
    }
    if (command.check_config != NULL)
        return check_config(service, &command);
    if (command.print_config != NULL)
        return print_config(service, command.print_config);
    if (command.describe_config)
        return describe_config(service);
    enum weir_log_level level;
    char conninfo[WEIR_CONNINFO_BYTES_MAX + 1];
    if (check_options(service, &command.options, &level, &err) != WEIR_OK ||
        read_conninfo(&command.options, conninfo, &err) != WEIR_OK)
        return complain(service, &err, EXIT_USAGE);
    weir_log_setup(command.options.name, level);
    weir_memory_keep();
    weir_dumps_forbid(!service->lends_memory);
    raise_descriptors();
    return run(service, &command.options);
}
