/* A link between two network namespaces. */
#include "benchmarks/cluster/link.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE      "1gbit"
#define ONE_WAY   "500us"
#define NEAR_HOST "10.97.0.1"
#define FAR_HOST  "10.97.0.2"

enum {
    KEYED_PORT = 5801,
    PLAIN_PORT = 5802,
    IN_ADVANCE = 8, /* batches */
    ASK_MS = 60000,
    PLAIN_BYTES = 1 << 18, /* of one call */
    WORDS_MAX = 24,
};

struct cluster_link {
    pid_t far;
    int to_far, from_far;
    struct weir_pair near_pair, far_pair;
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    uint64_t asked, had, wanted; /* batches of the call under way */
    bool done;
    struct weir_error failure; /* OK: none */
};

/* ---- the far end ---- */

static void on_read(void *owner, struct weir_request *request)
{
    struct weir_frames frames = {.count = 0};
    (void)owner;
    weir_frames_give(&frames, weir_calloc(1, LINK_BATCH_BYTES), LINK_BATCH_BYTES);
    weir_rpc_reply(request->server, &request->route, MSG_read_is, &(struct msg_read_is){.epoch = 1},
                   &frames);
}

static const struct weir_rpc_handler FAR[] = {
    WEIR_ON(read, on_read),
    {MSG_none, NULL},
};

static int listen_plainly(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PLAIN_PORT)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, FAR_HOST, &address.sin_addr);
    weir_require(bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                 listen(fd, 1) == 0);
    return fd;
}

/* Sends each who connects as many bytes as they ask for. */
static void *serve_plainly(void *owner)
{
    static const uint8_t BYTES[PLAIN_BYTES];
    int listener = *(const int *)owner;
    for (;;) {
        uint64_t left = 0;
        WEIR_AUTO_FD int fd = accept(listener, NULL, NULL);
        if (fd < 0 || recv(fd, &left, sizeof(left), MSG_WAITALL) != sizeof(left))
            continue;
        while (left > 0) {
            ssize_t sent = send(fd, BYTES, left < PLAIN_BYTES ? left : PLAIN_BYTES, MSG_NOSIGNAL);
            if (sent <= 0)
                break;
            left -= (uint64_t)sent;
        }
    }
    return NULL;
}

/* The life of the child, from when it has an address. */
static void serve(const struct cluster_link *link, int up)
{
    struct weir_error err;
    pthread_t plain;
    int listener = listen_plainly();
    struct weir_loop *loop = weir_loop_new();
    struct weir_rpc_server *server = weir_rpc_server_new(loop, FAR, NULL);
    WEIR_AUTO_FREE char *endpoint = weir_format("tcp://%s:%d", FAR_HOST, KEYED_PORT);
    const struct weir_rpc_door door = {.endpoint = endpoint, .pair = &link->far_pair};
    const char *const publics[] = {link->near_pair.public}, *const names[] = {"near"},
                      *const tenants[] = {""};
    const uint32_t roles[] = {WEIR_ROLE_WORKER};
    const struct msg_keys_set keys = {.number = 1,
                                      .publics = {publics, 1},
                                      .names = {names, 1},
                                      .roles = {roles, 1},
                                      .tenants = {tenants, 1}};
    weir_require(pthread_create(&plain, NULL, serve_plainly, &listener) == 0);
    weir_require(weir_rpc_listen_keyed(server, &door, &err) == WEIR_OK &&
                 weir_rpc_set_keys(server, &keys, &err) == WEIR_OK);
    weir_require(write(up, "r", 1) == 1);
    weir_loop_run(loop);
}

/* ---- making both ---- */

/* Runs a program to its end: words with blanks between, one of which may be FAR, the child's process. */
static bool ran(const char *words_of_it, pid_t far)
{
    WEIR_AUTO_FREE char *line = weir_strdup(words_of_it);
    WEIR_AUTO_FREE char *number = weir_format("%d", (int)far);
    char *words[WORDS_MAX] = {NULL}, *rest = NULL;
    size_t count = 0;
    for (char *word = strtok_r(line, " ", &rest); word != NULL && count < WORDS_MAX - 1;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = weir_str_equal(word, "FAR") ? number : word;
    pid_t child = fork();
    if (child == 0) {
        execvp(words[0], words);
        _exit(127);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* Joins the namespaces of this process and of `far`. */
static bool join(pid_t far)
{
    static const char *const STEPS[] = {
        "ip link set lo up",
        "ip link add near type veth peer name far netns FAR",
        "ip addr add " NEAR_HOST "/24 dev near",
        "ip link set near up",
        "nsenter -t FAR -n ip addr add " FAR_HOST "/24 dev far",
        "nsenter -t FAR -n ip link set far up",
        "tc qdisc add dev near root handle 1: tbf rate " RATE " burst 256kb latency 20ms",
        "nsenter -t FAR -n tc qdisc add dev far root handle 1: tbf rate " RATE
        " burst 256kb latency 20ms",
    };
    for (size_t i = 0; i < WEIR_COUNT(STEPS); i++) {
        if (!ran(STEPS[i], far))
            return false;
    }
    if (!ran("tc qdisc add dev near parent 1: netem delay " ONE_WAY " limit 10000", far) ||
        !ran("nsenter -t FAR -n tc qdisc add dev far parent 1: netem delay " ONE_WAY " limit 10000",
             far))
        fputs("bench_cluster: this kernel has no netem: the link has its rate, and no delay\n",
              stderr);
    return true;
}

static bool hear(int fd)
{
    char byte;
    return read(fd, &byte, 1) == 1;
}

/* The child makes its namespace, says so, and serves once it is told that the link is there. */
static bool start_far(struct cluster_link *link)
{
    int down[2], up[2];
    weir_require(pipe(down) == 0 && pipe(up) == 0);
    link->far = fork();
    if (link->far == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNET) != 0 || write(up[1], "u", 1) != 1 || !hear(down[0]))
            _exit(1);
        serve(link, up[1]);
        _exit(0);
    }
    close(down[0]);
    close(up[1]);
    link->to_far = down[1];
    link->from_far = up[0];
    return link->far > 0 && hear(link->from_far);
}

enum weir_status cluster_link_open(struct cluster_link **ret_link, struct weir_error *err)
{
    struct cluster_link *link = weir_calloc(1, sizeof(*link));
    enum weir_status status = weir_pair_draw(&link->near_pair, err);
    if (status == WEIR_OK)
        status = weir_pair_draw(&link->far_pair, err);
    if (status == WEIR_OK && (unshare(CLONE_NEWNET) != 0 || !start_far(link) || !join(link->far) ||
                              write(link->to_far, "g", 1) != 1 || !hear(link->from_far)))
        status = weir_fail(err, WEIR_UNAVAILABLE,
                           "no two network namespaces with a link between them: that takes root, "
                           "ip, tc and nsenter");
    if (status == WEIR_OK) {
        WEIR_AUTO_FREE char *address =
            weir_format("tcp://%s:%d#%s", FAR_HOST, KEYED_PORT, link->far_pair.public);
        link->loop = weir_loop_new();
        status = weir_rpc_connect_as(link->loop, address, &link->near_pair, NULL, link, &link->peer,
                                     err);
    }
    if (status != WEIR_OK) {
        cluster_link_close(link);
        return status;
    }
    *ret_link = link;
    return WEIR_OK;
}

void cluster_link_close(struct cluster_link *link)
{
    if (link == NULL)
        return;
    weir_rpc_peer_close(link->peer);
    weir_loop_free(link->loop);
    if (link->far > 0) {
        kill(link->far, SIGKILL);
        waitpid(link->far, NULL, 0);
    }
    free(link);
}

/* ---- receiving ---- */

static void ask_on(struct cluster_link *link);

static void on_batch(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct cluster_link *link = owner;
    if (reply == NULL || weir_frames_bytes(reply->frames) != LINK_BATCH_BYTES) {
        weir_ignore(weir_fail(&link->failure, WEIR_INTERNAL, "a batch did not come: %s",
                              err != NULL ? err->text : "it is of another size"));
        link->done = true;
        return;
    }
    link->done = ++link->had == link->wanted;
    ask_on(link);
}

static void ask_on(struct cluster_link *link)
{
    while (link->asked < link->wanted && link->asked < link->had + IN_ADVANCE) {
        link->asked++;
        weir_rpc_call(link->peer, MSG_read, &(struct msg_read){.ids = {NULL, 0}}, ASK_MS, on_batch,
                      link);
    }
}

enum weir_status cluster_link_batches(struct cluster_link *link, uint64_t count,
                                      struct weir_error *err)
{
    link->asked = link->had = 0;
    link->wanted = count;
    link->done = false;
    link->failure.status = WEIR_OK;
    ask_on(link);
    while (!link->done)
        weir_loop_step(link->loop, ASK_MS);
    *err = link->failure;
    return link->failure.status;
}

enum weir_status cluster_link_plain(struct cluster_link *link, uint64_t bytes,
                                    struct weir_error *err)
{
    static uint8_t to[PLAIN_BYTES];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PLAIN_PORT)};
    WEIR_AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)link;
    inet_pton(AF_INET, FAR_HOST, &address.sin_addr);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        send(fd, &bytes, sizeof(bytes), MSG_NOSIGNAL) != sizeof(bytes))
        return weir_fail(err, WEIR_IO, "plain connection: %s", strerror(errno));
    while (bytes > 0) {
        ssize_t got = recv(fd, to, sizeof(to), 0);
        if (got <= 0)
            return weir_fail(err, WEIR_IO, "plain connection: it ended early");
        bytes -= (uint64_t)got;
    }
    return WEIR_OK;
}
