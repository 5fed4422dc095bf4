/* sender ENDPOINT, or sender SERVICE PASS: sends every message of the list, empty, to whoever serves ENDPOINT, or to
 * that service under a key, and prints the names of those that are not refused for what they are. Exits 1 when nobody
 * answers. */
#include "core/base/memory.h"
#include "core/rpc/pass.h"
#include "core/rpc/rpc.h"

#include <stdio.h>
#include <string.h>

enum { ANSWER_MS = 60000, MESSAGES_MAX = 512, MESSAGE_BYTES = 4096 };

static const uint64_t EMPTY[MESSAGE_BYTES / sizeof(uint64_t)];

struct sent {
    const struct weir_message_info *info;
    bool is_refused;
};

static void on_done(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct sent *sent = owner;
    sent->is_refused = reply == NULL && (strstr(err->text, " to send: refused at ") != NULL ||
                                         strstr(err->text, "is not served at") != NULL);
}

/* It comes after all others, and so do its answer and its refusal. */
static void on_last(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    int *code = owner;
    *code = reply == NULL && err->status == WEIR_TIMEOUT ? 1 : 0;
}

static int send_all(struct weir_loop *loop, struct weir_rpc_peer *peer)
{
    struct sent sent[MESSAGES_MAX] = {0};
    size_t count = weir_message_count();
    int code = -1;
    weir_require(count <= MESSAGES_MAX);
    for (size_t i = 0; i < count; i++) {
        sent[i].info = weir_message_at(i);
        weir_require(sent[i].info->size <= sizeof(EMPTY));
        weir_rpc_call(peer, sent[i].info->type, EMPTY, ANSWER_MS, on_done, &sent[i]);
    }
    weir_rpc_call(peer, MSG_health, EMPTY, ANSWER_MS, on_last, &code);
    while (code < 0)
        weir_loop_step(loop, 20);
    for (size_t i = 0; i < count; i++)
        if (!sent[i].is_refused)
            printf("%s\n", sent[i].info->name);
    return code;
}

static enum weir_status reach(struct weir_loop *loop, char **words, struct weir_rpc_peer **ret_peer,
                              struct weir_error *err)
{
    struct weir_pass pass = {.platform = NULL};
    WEIR_AUTO_FREE char *address = NULL;
    if (words[1] == NULL)
        return weir_rpc_connect(loop, words[0], NULL, NULL, ret_peer, err);
    enum weir_status status = weir_pass_read(words[1], &pass, err);
    if (status == WEIR_OK)
        status = weir_pass_address(&pass, NULL, words[0], &address, err);
    if (status == WEIR_OK)
        status = weir_rpc_connect_as(loop, address, &pass.pair, NULL, NULL, ret_peer, err);
    weir_pass_fini(&pass);
    return status;
}

int main(int argc, char **argv)
{
    struct weir_loop *loop = weir_loop_new();
    struct weir_rpc_peer *peer = NULL;
    struct weir_error err = {.text = "usage: sender ENDPOINT, or sender SERVICE PASS"};
    if (argc < 2 || argc > 3 || reach(loop, argv + 1, &peer, &err) != WEIR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    int code = send_all(loop, peer);
    weir_rpc_peer_close(peer);
    weir_loop_free(loop);
    return code;
}
