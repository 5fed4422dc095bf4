/* Finding or starting the platform, and asking it. */
#include "cli/platform.h"

#include "cli/answer.h"
#include "cli/lock.h"
#include "cli/place.h"
#include "cli/serving.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "core/service/service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    START_MS = 120000, /* a new cluster on a slow disk */
    FIND_MS = 5000,    /* whoever is up answers at once */
    LOOK_MS = 50,      /* between two looks at the lock while the platform starts */
    WATCH_MS = 1000,   /* between two looks whether it is still served while an answer is awaited */
    RETURN_MS = 24 * 3600 * 1000, /* a platform that stopped may come back */
    ASK_TRIES_MAX = 10,           /* other commands come and go, and their platforms with them */
    JOIN_TRIES_MAX = 20,          /* commands that come at once and go one after the other */
    REACH_MS = 10000,             /* for one elsewhere to answer at all */
    SILENT_MS = 20000,            /* without a word from one elsewhere: it is away */
    /* a prediction over everything takes its time; whether anybody is there is watched */
    REQUEST_MS = 3600000,
};

struct cli_platform {
    const struct cli_place *place; /* NULL: not known yet */
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    struct cli_serving serving; /* pid 0: somebody else serves */
    int signal_fd;
    bool interrupted;
    int64_t look_ms; /* when to look again whether it is still served */
    char *topic;     /* asked last; NULL: none */

    /* Of one elsewhere. */
    bool is_asked;    /* a request whether it is there is open */
    int64_t heard_ms; /* when it last answered that */
};

/* ---- waiting ---- */

static void on_signal(void *owner)
{
    struct cli_platform *platform = owner;
    struct signalfd_siginfo info;
    if (read(platform->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        platform->interrupted = true;
}

/* Blocked before the first thread starts, so that none of ZeroMQ's threads takes them. */
static enum weir_status open_signals(struct cli_platform *platform, struct weir_error *err)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    platform->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return platform->signal_fd >= 0 ? WEIR_OK
                                    : weir_fail(err, WEIR_IO, "signalfd: %s", strerror(errno));
}

static enum weir_status fail_ended(const struct cli_platform *platform, struct weir_error *err)
{
    char line[WEIR_ERROR_TEXT_MAX];
    cli_serving_last_line(&platform->serving, line, sizeof(line));
    return weir_fail(err, WEIR_UNAVAILABLE, "%s",
                     line[0] == '\0' ? "the orchestrator ended without a word; see the logs in the "
                                       "data directory"
                                     : line);
}

/* Fails once the command was interrupted, or the platform has ended. */
static enum weir_status check(const struct cli_platform *platform, struct weir_error *err)
{
    if (platform->interrupted)
        return weir_fail(err, WEIR_UNAVAILABLE, "interrupted");
    if (platform->serving.pid != 0)
        return cli_serving_ended(&platform->serving) ? fail_ended(platform, err) : WEIR_OK;
    return WEIR_OK;
}

static enum weir_status fail_over(const struct cli_platform *platform, struct weir_error *err)
{
    return weir_fail(err, WEIR_STALE, "whoever served %s stopped before it answered: ask again",
                     platform->place->name);
}

static void on_heard(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct cli_platform *platform = owner;
    (void)err; /* it is asked again */
    platform->is_asked = false;
    if (reply != NULL)
        platform->heard_ms = weir_now_ms();
}

/* One elsewhere has no lock to look at: it is asked. */
static enum weir_status check_still_heard(struct cli_platform *platform, struct weir_error *err)
{
    if (weir_now_ms() - platform->heard_ms > SILENT_MS)
        return weir_fail(err, WEIR_STALE, "%s has not answered for %d s: ask again",
                         platform->place->name, SILENT_MS / 1000);
    if (!platform->is_asked)
        weir_rpc_call(platform->peer, MSG_health, NULL, SILENT_MS, on_heard, platform);
    platform->is_asked = true;
    return WEIR_OK;
}

static enum weir_status check_still_served(struct cli_platform *platform, struct weir_error *err)
{
    CLI_AUTO_LOCK lock = {.held = false};
    enum weir_status status = check(platform, err);
    if (status == WEIR_OK && platform->place != NULL && platform->place->is_elsewhere)
        return check_still_heard(platform, err);
    if (status == WEIR_OK && platform->serving.pid == 0 && platform->place != NULL) {
        status = cli_lock_look(platform->place->data_dir, &lock, err);
        if (status == WEIR_OK && !lock.held)
            status = fail_over(platform, err);
    }
    return status;
}

enum weir_status cli_platform_pause(struct cli_platform *platform, int64_t pause_ms,
                                    struct weir_error *err)
{
    int64_t until_ms = weir_now_ms() + pause_ms;
    enum weir_status status = check(platform, err);
    for (int64_t left = pause_ms; left > 0 && status == WEIR_OK; left = until_ms - weir_now_ms()) {
        weir_loop_step(platform->loop, left);
        status = check(platform, err);
    }
    return status;
}

struct weir_loop *cli_platform_loop(const struct cli_platform *platform)
{
    return platform->loop;
}

enum weir_status cli_platform_step(struct cli_platform *platform, int64_t wait_ms,
                                   struct weir_error *err)
{
    weir_loop_step(platform->loop, wait_ms);
    if (weir_now_ms() < platform->look_ms)
        return check(platform, err);
    platform->look_ms = weir_now_ms() + WATCH_MS;
    return check_still_served(platform, err);
}

/* ---- asking ---- */

struct query {
    bool answered;
    json_t *json; /* of an `answer` */
    enum weir_status status;
    struct weir_error *err;
};

static void read_answer(struct query *query, const struct msg_answer *answer)
{
    json_error_t problem;
    query->json = json_loads(answer->json, 0, &problem);
    if (query->json == NULL) {
        query->status = weir_fail(query->err, WEIR_CORRUPT,
                                  "the orchestrator's answer is no JSON: %s", problem.text);
    }
}

static void on_reply(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct query *query = owner;
    query->answered = true;
    query->status = WEIR_OK;
    if (reply == NULL) {
        *query->err = *err;
        query->status = err->status;
    } else if (reply->type == MSG_answer) {
        read_answer(query, reply->message);
    }
}

static enum weir_status wait_for(struct cli_platform *platform, struct query *query)
{
    enum weir_status status = WEIR_OK;
    int64_t look_ms = weir_now_ms() + WATCH_MS;
    while (!query->answered && status == WEIR_OK) {
        weir_loop_step(platform->loop, WATCH_MS);
        status = check(platform, query->err);
        if (status == WEIR_OK && weir_now_ms() >= look_ms) {
            status = check_still_served(platform, query->err);
            look_ms = weir_now_ms() + WATCH_MS;
        }
    }
    weir_rpc_forget(platform->peer, query);
    return query->answered ? query->status : status;
}

/* Both ends forget what was asked before: it may name somebody. The same topic leaves nothing else behind, and a
 * connection to elsewhere costs a handshake. */
static void forget_other(struct cli_platform *platform, const char *topic)
{
    if (platform->topic != NULL && strcmp(platform->topic, topic) == 0)
        return;
    if (platform->topic != NULL)
        weir_rpc_peer_renew(platform->peer);
    free(platform->topic);
    platform->topic = weir_strdup(topic);
}

enum weir_status cli_platform_request(struct cli_platform *platform, const char *topic,
                                      const json_t *arguments, json_t **ret_answer,
                                      struct weir_error *err)
{
    char *text = arguments == NULL ? NULL : json_dumps(arguments, JSON_COMPACT);
    struct msg_command ask = {.topic = topic, .arguments = text == NULL ? "{}" : text};
    struct query query = {.err = err};
    forget_other(platform, topic);
    weir_rpc_call(platform->peer, MSG_command, &ask, REQUEST_MS, on_reply, &query);
    free(text);
    enum weir_status status = wait_for(platform, &query);
    if (status == WEIR_OK)
        *ret_answer = query.json;
    return status;
}

/* ---- finding, starting ---- */

static enum weir_status greet_at(struct cli_platform *platform, const char *endpoint,
                                 int64_t patience_ms, struct weir_error *err)
{
    struct query query = {.err = err};
    enum weir_status status =
        weir_rpc_connect(platform->loop, endpoint, NULL, NULL, &platform->peer, err);
    if (status != WEIR_OK)
        return status;
    weir_rpc_call(platform->peer, MSG_health, NULL, patience_ms, on_reply, &query);
    return wait_for(platform, &query);
}

static enum weir_status greet(struct cli_platform *platform, const char *socket_dir,
                              struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(socket_dir, "orchestrator");
    return greet_at(platform, endpoint, START_MS, err);
}

/* True when there is no platform yet, and the command starts one that works there: then that is where it is made. */
static bool may_begin(const struct cli_platform *platform, enum weir_status looked)
{
    return looked == WEIR_INVALID && platform->place->works;
}

/* Until the orchestrator that was started has written where its sockets are. */
static enum weir_status wait_for_sockets(struct cli_platform *platform, char **ret_socket_dir,
                                         struct weir_error *err)
{
    int64_t until_ms = weir_now_ms() + START_MS;
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && weir_now_ms() < until_ms) {
        CLI_AUTO_LOCK lock = {.held = false};
        status = cli_platform_pause(platform, LOOK_MS, err);
        if (status == WEIR_OK)
            status = cli_lock_read(platform->place->data_dir, &lock, err);
        if (may_begin(platform, status))
            status = WEIR_OK; /* it is being made */
        else if (status == WEIR_OK && lock.pid == platform->serving.pid &&
                 lock.socket_dir[0] != '\0') {
            *ret_socket_dir = WEIR_TAKE(lock.socket_dir);
            return WEIR_OK;
        }
    }
    return status != WEIR_OK
               ? status
               : weir_fail(err, WEIR_TIMEOUT, "the platform did not start on %s within %d s",
                           platform->place->data_dir, START_MS / 1000);
}

/* Two commands at once: one orchestrator gets the lock, the other ends, and both ask the one. STALE: that one is over
 * already; `before` is who had the lock when this command looked first. */
static enum weir_status join_the_faster(struct cli_platform *platform, long before,
                                        char **ret_socket_dir, struct weir_error *err)
{
    CLI_AUTO_LOCK lock = {.held = false};
    struct weir_error unread;

    if (!cli_serving_ended(&platform->serving) ||
        cli_lock_look(platform->place->data_dir, &lock, &unread) != WEIR_OK)
        return err->status;
    if (!lock.held && (lock.pid == before || lock.pid == platform->serving.pid))
        return err->status; /* nobody else was there: it has ended for a reason of its own */
    cli_serving_stop(&platform->serving);
    if (!lock.held)
        return fail_over(platform, err);
    *ret_socket_dir = WEIR_TAKE(lock.socket_dir);
    return WEIR_OK;
}

/* Somebody holds the lock who is only starting: until it says where its sockets are. */
static enum weir_status await_sockets(struct cli_platform *platform, struct cli_lock *lock,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && lock->held && lock->socket_dir[0] == '\0') {
        cli_lock_fini(lock);
        *lock = (struct cli_lock){.held = false};
        status = cli_platform_pause(platform, LOOK_MS, err);
        if (status == WEIR_OK)
            status = cli_lock_look(platform->place->data_dir, lock, err);
    }
    return status == WEIR_OK && !lock->held ? fail_over(platform, err) : status;
}

/* STALE: whoever was to serve both is over before it answered. */
static enum weir_status join_or_start(struct cli_platform *platform, struct weir_error *err)
{
    CLI_AUTO_LOCK lock = {.held = false};
    WEIR_AUTO_FREE char *socket_dir = NULL;
    enum weir_status status = cli_lock_look(platform->place->data_dir, &lock, err);
    if (status == WEIR_OK && lock.held) {
        status = await_sockets(platform, &lock, err);
        return status == WEIR_OK ? greet(platform, lock.socket_dir, err) : status;
    }
    if (status == WEIR_OK || may_begin(platform, status))
        status = cli_serving_start(platform->place->data_dir, platform->place->works,
                                   &platform->serving, err);
    if (status != WEIR_OK)
        return status;
    status = wait_for_sockets(platform, &socket_dir, err);
    if (status != WEIR_OK)
        status = join_the_faster(platform, lock.pid, &socket_dir, err);
    return status == WEIR_OK ? greet(platform, socket_dir, err) : status;
}

static enum weir_status connect_elsewhere(const struct cli_platform *platform, const char *service,
                                          struct weir_rpc_peer **ret_peer, struct weir_error *err)
{
    const struct cli_place *place = platform->place;
    WEIR_AUTO_FREE char *address = NULL;
    enum weir_status status =
        weir_pass_address(&place->pass, place->endpoint, service, &address, err);
    return status == WEIR_OK ? weir_rpc_connect_as(platform->loop, address, &place->pass.pair, NULL,
                                                   NULL, ret_peer, err)
                             : status;
}

static enum weir_status reach(struct cli_platform *platform, struct weir_error *err)
{
    struct query query = {.err = err};
    enum weir_status status = connect_elsewhere(platform, "orchestrator", &platform->peer, err);
    if (status != WEIR_OK)
        return status;
    platform->heard_ms = weir_now_ms();
    weir_rpc_call(platform->peer, MSG_health, NULL, REACH_MS, on_reply, &query);
    status = wait_for(platform, &query);
    return status == WEIR_TIMEOUT
               ? weir_fail(err, WEIR_TIMEOUT,
                           "%s: nobody answers: is the platform up, and may this host reach it?",
                           platform->place->name)
               : status;
}

static enum weir_status find_or_start(struct cli_platform *platform, struct weir_error *err)
{
    enum weir_status status = open_signals(platform, err);
    if (status != WEIR_OK)
        return status;
    platform->loop = weir_loop_new();
    weir_loop_watch_fd(platform->loop, platform->signal_fd, POLLIN, on_signal, platform);
    if (platform->place->is_elsewhere)
        return reach(platform, err);
    for (int tries = 0; tries < JOIN_TRIES_MAX; tries++) {
        status = join_or_start(platform, err);
        if (status != WEIR_STALE)
            break;
        weir_rpc_peer_close(platform->peer);
        platform->peer = NULL;
    }
    return status;
}

enum weir_status cli_platform_open(const struct cli_place *place,
                                   struct cli_platform **ret_platform, struct weir_error *err)
{
    WEIR_AUTO(cli_platform) platform = weir_calloc(1, sizeof(*platform));
    platform->place = place;
    platform->signal_fd = -1;
    enum weir_status status = find_or_start(platform, err);
    if (status == WEIR_OK)
        *ret_platform = WEIR_TAKE(platform);
    return status;
}

/* ---- waiting for one that is away ---- */

static enum weir_status pause_for(const struct timespec *pause, struct weir_error *err)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    if (sigtimedwait(&signals, NULL, pause) > 0) /* they stay blocked: see open_signals() */
        return weir_fail(err, WEIR_UNAVAILABLE, "interrupted");
    return WEIR_OK;
}

static enum weir_status fail_unserved(const struct cli_place *place, struct weir_error *err)
{
    return place->is_elsewhere
               ? weir_fail(err, WEIR_TIMEOUT, "nobody answers at %s", place->name)
               : weir_fail(err, WEIR_TIMEOUT, "nobody serves %s: orchestrator serve does",
                           place->name);
}

static enum weir_status await_here(const struct cli_place *place, int64_t until_ms,
                                   struct weir_error *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && weir_now_ms() < until_ms) {
        CLI_AUTO_LOCK lock = {.held = false};
        status = cli_lock_look(place->data_dir, &lock, err);
        if (status != WEIR_OK || lock.held)
            return status;
        status = pause_for(&pause, err);
    }
    return status != WEIR_OK ? status : fail_unserved(place, err);
}

static enum weir_status await_elsewhere(const struct cli_place *place, int64_t until_ms,
                                        struct weir_error *err)
{
    while (weir_now_ms() < until_ms) {
        WEIR_AUTO(cli_platform) platform = NULL;
        enum weir_status status = cli_platform_open(place, &platform, err);
        if (status != WEIR_TIMEOUT)
            return status;
    }
    return fail_unserved(place, err);
}

enum weir_status cli_platform_await(const struct cli_place *place, int64_t patience_ms,
                                    struct weir_error *err)
{
    int64_t until_ms = weir_now_ms() + patience_ms;
    return place->is_elsewhere ? await_elsewhere(place, until_ms, err)
                               : await_here(place, until_ms, err);
}

static enum weir_status open_and_ask(const struct cli_place *place, cli_platform_ask_fn *ask,
                                     void *owner, struct weir_error *err)
{
    WEIR_AUTO(cli_platform) platform = NULL;
    enum weir_status status = cli_platform_open(place, &platform, err);
    return status == WEIR_OK ? ask(platform, owner, err) : status;
}

enum weir_status cli_platform_ask(const struct cli_place *place, cli_platform_ask_fn *ask,
                                  void *owner, struct weir_error *err)
{
    enum weir_status status = WEIR_STALE;
    for (int tries = 0; tries < ASK_TRIES_MAX && status == WEIR_STALE; tries++)
        status = open_and_ask(place, ask, owner, err);
    return status;
}

enum weir_status cli_platform_await_return(const struct cli_place *place, struct weir_error *err)
{
    if (place->is_elsewhere)
        (void)fprintf(stderr, "nobody answers at %s; waiting for it\n", place->name);
    else
        (void)fprintf(stderr, "nobody serves %s; waiting for: orchestrator serve --data-dir %s\n",
                      place->name, place->name);
    return cli_platform_await(place, RETURN_MS, err);
}

enum weir_status cli_platform_connect(const struct cli_platform *platform, const char *endpoint,
                                      struct weir_rpc_peer **ret_peer, struct weir_error *err)
{
    return platform->place->is_elsewhere
               ? connect_elsewhere(platform, "storage", ret_peer, err)
               : weir_rpc_connect(platform->loop, endpoint, NULL, NULL, ret_peer, err);
}

/* From the directory on everything goes as if it had been named: it is on this host, as the endpoint is. */
enum weir_status cli_platform_find(const char *endpoint, char **ret_data_dir,
                                   struct weir_error *err)
{
    WEIR_AUTO(cli_platform) platform = weir_calloc(1, sizeof(*platform));
    json_t *answer = NULL;
    enum weir_status status = open_signals(platform, err);
    platform->loop = weir_loop_new();
    if (status == WEIR_OK) {
        weir_loop_watch_fd(platform->loop, platform->signal_fd, POLLIN, on_signal, platform);
        status = greet_at(platform, endpoint, FIND_MS, err);
    }
    if (status == WEIR_OK)
        status = cli_platform_request(platform, "status", NULL, &answer, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "--endpoint %s", endpoint);
    *ret_data_dir = weir_strdup(cli_text(answer, "data_dir"));
    json_decref(answer);
    return WEIR_OK;
}

bool cli_platform_is_own(const struct cli_platform *platform)
{
    return platform->serving.pid != 0;
}

void cli_platform_close(struct cli_platform *platform)
{
    if (platform == NULL)
        return;
    weir_rpc_peer_close(platform->peer);
    free(platform->topic);
    cli_serving_stop(&platform->serving);
    weir_loop_free(platform->loop);
    if (platform->signal_fd >= 0)
        (void)close(platform->signal_fd);
    free(platform);
}
