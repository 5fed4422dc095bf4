/* nonsense ENDPOINT SEED COUNT PIPELINE: sends COUNT requests that decode but make no sense to whoever serves
 * ENDPOINT, of all messages that it serves, drawn from SEED. Exits 0 when the same process answers afterwards, 1 when
 * another one does, or none; of one that refuses `health` it is not known which one it is. PIPELINE is a file that some
 * of them hold. */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/rpc/rpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPEN_MAX = 32,     /* requests on their way at once */
    CHECK_EVERY = 64,  /* requests between two looks at who answers */
    ANSWER_MS = 400,   /* nonsense may go unanswered for so long */
    HEALTH_MS = 60000, /* a busy service is not a dead one */
    LIST_MAX = 6,      /* elements of a list */
    LONG_TEXT = 5000,  /* characters of the longest text */
    TYPES_MAX = 512,
};

struct nonsense {
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    struct weir_arena *arena; /* of the message being made */
    struct weir_rng rng;
    struct weir_buf pipeline;
    char long_text[LONG_TEXT + 1];
    /* elements of each list of the message being made; SIZE_MAX: of each drawn again */
    size_t list;
    const struct weir_message_info *served[TYPES_MAX];
    size_t served_count;
    size_t open, refused, answered;
    uint64_t session;     /* of who answered health; 0: none tells it */
    uint64_t turned_away; /* messages, as it told last */
    bool is_healthy;
};

/* ---- making one up ---- */

static uint64_t draw(struct nonsense *nonsense, uint64_t below)
{
    return weir_rng_below(&nonsense->rng, below);
}

static uint64_t number(struct nonsense *nonsense)
{
    static const uint64_t ODD[] = {0,          1,
                                   2,          3,
                                   7,          100,
                                   4096,       UINT64_C(1) << 20,
                                   UINT32_MAX, UINT64_C(1) << 32,
                                   INT64_MAX,  UINT64_C(1) << 63,
                                   UINT64_MAX, (UINT64_C(1) << 44) + 1};
    uint64_t which = draw(nonsense, 2 * WEIR_COUNT(ODD));
    if (which < WEIR_COUNT(ODD))
        return ODD[which];
    return draw(nonsense, which % 2 == 0 ? 20 : UINT64_MAX);
}

static const char *text(struct nonsense *nonsense)
{
    static const char *const WORDS[] = {
        "",          "a",         "lab",          "notes",
        "worker-1",  "../x",      "%s%n",         "{}",
        "[]",        "train",     "evaluate",     "predict",
        "status",    "events",    "models",       "erasures",
        "datasets",  "pipelines", "erase_verify", "doctor",
        "report",    "workers",   "sets",         "select",
        "dry_run",   "promote",   "push",         "runs",
        "none",      "lz4",       "\xc3\xa9",     "{\"erasure\": 1, \"pipeline\": \"lab\"}",
        "/dev/null", "a\xff\xc3"};
    uint64_t which = draw(nonsense, WEIR_COUNT(WORDS) + 1);
    return which < WEIR_COUNT(WORDS) ? WORDS[which] : nonsense->long_text;
}

static struct weir_bytes bytes(struct nonsense *nonsense)
{
    size_t size = (size_t)draw(nonsense, 200);
    uint8_t *at = weir_arena_alloc(nonsense->arena, size + 1);
    if (draw(nonsense, 4) == 0)
        return weir_buf_view(&nonsense->pipeline);
    if (draw(nonsense, 4) == 0)
        return weir_bytes_of(text(nonsense));
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)draw(nonsense, 256);
    return weir_bytes(at, size);
}

static size_t count(struct nonsense *nonsense)
{
    return nonsense->list != SIZE_MAX ? nonsense->list : (size_t)draw(nonsense, LIST_MAX);
}

#define make_bool(nonsense) (draw(nonsense, 2) == 0)
#define make_u32(nonsense)  ((uint32_t)number(nonsense))
#define make_u64(nonsense)  number(nonsense)
#define make_i64(nonsense)  ((int64_t)number(nonsense))
#define make_str(nonsense)  text(nonsense)
#define make_raw(nonsense)  text(nonsense)
#define make_bin(nonsense)  bytes(nonsense)

static double make_f64(struct nonsense *nonsense)
{
    uint64_t bits = number(nonsense);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

#define MAKE_LIST(kind, type, draw_one)                                         \
    static struct weir_##kind make_##kind(struct nonsense *nonsense)            \
    {                                                                           \
        size_t size = count(nonsense);                                          \
        type *at = weir_arena_alloc(nonsense->arena, (size + 1) * sizeof(*at)); \
        for (size_t i = 0; i < size; i++)                                       \
            at[i] = draw_one;                                                   \
        return (struct weir_##kind){at, size};                                  \
    }
MAKE_LIST(u64s, uint64_t, number(nonsense))
MAKE_LIST(i64s, int64_t, (int64_t)number(nonsense))
MAKE_LIST(u32s, uint32_t, (uint32_t)number(nonsense))
MAKE_LIST(strs, const char *, text(nonsense))
#define make_raws(nonsense) make_strs(nonsense)

// clang-format off
#define MESSAGE(name, number_, roles, doc) \
    static void make_##name(struct nonsense *nonsense, struct msg_##name *msg) \
    {                                                                          \
        (void)nonsense, (void)msg;
#define FIELD(kind, member, doc) msg->member = make_##kind(nonsense);
#define END(name) }
// clang-format on
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END

static const void *make(struct nonsense *nonsense, enum weir_message type)
{
    weir_arena_clear(nonsense->arena);
    nonsense->list = draw(nonsense, 2) == 0 ? (size_t)draw(nonsense, LIST_MAX) : SIZE_MAX;
    void *message = weir_arena_alloc(nonsense->arena, weir_message_info(type)->size + 1);
    switch (type) {
    case MSG_none:
        break;
#define MESSAGE(name, number_, roles, doc) \
    case MSG_##name:                       \
        make_##name(nonsense, message);    \
        break;
#define FIELD(kind, member, doc)
#define END(name)
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END
    }
    return message;
}

/* ---- sending it ---- */

static void on_done(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct nonsense *nonsense = owner;
    (void)err;
    nonsense->open--;
    nonsense->answered += reply != NULL;
    nonsense->refused += reply == NULL;
}

static bool is_not_for_trainers(const struct weir_error *err)
{
    return strstr(err->text, "is not for a trainer to send") != NULL;
}

static void on_health(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct nonsense *nonsense = owner;
    nonsense->open--;
    if (reply == NULL &&
        is_not_for_trainers(err)) { /* it lives; the test looks whether it is the same process */
        nonsense->is_healthy = true;
        return;
    }
    nonsense->is_healthy = reply != NULL && reply->type == MSG_health_is;
    if (!nonsense->is_healthy) {
        fprintf(stderr, "health: %s\n", err != NULL ? err->text : "another answer");
        return;
    }
    const struct msg_health_is *health = reply->message;
    uint64_t session = health->session;
    nonsense->turned_away = health->turned_away;
    if (nonsense->session != 0 && nonsense->session != session) {
        fprintf(stderr, "another process answers: the one before has ended\n");
        nonsense->is_healthy = false;
    }
    nonsense->session = session;
}

static void wait_until(struct nonsense *nonsense, size_t open)
{
    while (nonsense->open > open)
        weir_loop_step(nonsense->loop, 20);
}

/* False when who answered before does no longer. */
static bool is_the_same(struct nonsense *nonsense)
{
    struct msg_health message;
    memset(&message, 0, sizeof(message));
    wait_until(nonsense, 0);
    nonsense->open++;
    weir_rpc_call(nonsense->peer, MSG_health, &message, HEALTH_MS, on_health, nonsense);
    wait_until(nonsense, 0);
    return nonsense->is_healthy;
}

struct probe {
    struct nonsense *nonsense;
    const struct weir_message_info *info;
};

static void on_probed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct probe *probe = owner;
    struct nonsense *nonsense = probe->nonsense;
    (void)reply;
    nonsense->open--;
    if (err == NULL || (strstr(err->text, "is not served at") == NULL && !is_not_for_trainers(err)))
        nonsense->served[nonsense->served_count++] = probe->info;
}

/* Unless it tells us nothing of its health. */
static bool has_counted_what_it_does_not_serve(const struct nonsense *nonsense)
{
    size_t others = weir_message_count() - nonsense->served_count;
    bool is_counted = nonsense->session == 0 || nonsense->turned_away >= others;
    if (!is_counted)
        fprintf(stderr, "%zu messages are not served, %llu were turned away\n", others,
                (unsigned long long)nonsense->turned_away);
    return is_counted;
}

/* Finds the messages that are served: those that are not refused for that. */
static void probe_all(struct nonsense *nonsense)
{
    struct probe probes[TYPES_MAX];
    weir_require(weir_message_count() <= TYPES_MAX);
    for (size_t i = 0; i < weir_message_count(); i++) {
        probes[i] = (struct probe){nonsense, weir_message_at(i)};
        wait_until(nonsense, OPEN_MAX - 1);
        nonsense->open++;
        weir_rpc_call(nonsense->peer, probes[i].info->type, make(nonsense, probes[i].info->type),
                      ANSWER_MS, on_probed, &probes[i]);
    }
    wait_until(nonsense, 0);
}

static bool send_all(struct nonsense *nonsense, size_t messages)
{
    for (size_t i = 0; i < messages; i++) {
        const struct weir_message_info *info =
            nonsense->served[draw(nonsense, nonsense->served_count)];
        wait_until(nonsense, OPEN_MAX - 1);
        const void *message = make(nonsense, info->type);
        if (draw(nonsense, 8) == 0) {
            weir_rpc_send(nonsense->peer, info->type, message);
        } else {
            nonsense->open++;
            weir_rpc_call(nonsense->peer, info->type, message, ANSWER_MS, on_done, nonsense);
        }
        if (i % CHECK_EVERY == 0 && !is_the_same(nonsense))
            return false;
    }
    return is_the_same(nonsense);
}

int main(int argc, char **argv)
{
    struct nonsense nonsense = {.loop = weir_loop_new(), .arena = weir_arena_new()};
    struct weir_error err;
    if (argc != 5) {
        fprintf(stderr, "usage: nonsense ENDPOINT SEED COUNT PIPELINE\n");
        return 2;
    }
    memset(nonsense.long_text, 'x', LONG_TEXT);
    weir_rng_init(&nonsense.rng, strtoull(argv[2], NULL, 10));
    if (weir_file_read(argv[4], 1 << 20, &nonsense.pipeline, &err) != WEIR_OK ||
        weir_rpc_connect(nonsense.loop, argv[1], NULL, NULL, &nonsense.peer, &err) != WEIR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    bool survived = is_the_same(&nonsense);
    if (survived)
        probe_all(&nonsense);
    survived = survived && send_all(&nonsense, strtoull(argv[3], NULL, 10)) &&
               has_counted_what_it_does_not_serve(&nonsense);
    printf("%s: seed %s, %zu messages are served, %zu answered, %zu refused: %s\n", argv[1],
           argv[2], nonsense.served_count, nonsense.answered, nonsense.refused,
           survived ? "survived" : "ENDED");
    weir_rpc_peer_close(nonsense.peer);
    weir_loop_free(nonsense.loop);
    weir_arena_free(nonsense.arena);
    weir_buf_fini(&nonsense.pipeline);
    return survived ? 0 : 1;
}
