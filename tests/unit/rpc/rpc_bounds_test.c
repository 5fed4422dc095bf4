/* Peers that would fill the memory of a server: endless messages, many that begin and never end, and answers that are
 * asked for and not read. All that ZeroMQ holds stays within its bounds, and others are served meanwhile. */
#include "tests/unit/rpc/rpc_fixture.h"

#include "core/rpc/envelope.h"
#include "core/rpc/inflow.h"
#include "core/rpc/outflow.h"
#include "tests/support/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Sanitizers keep what is freed, and have much beside it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum {
    MIB = 1 << 20,
    PIECE = 64 << 10,
    MORE = 1,
    LONG = 2,
    CROWD = 48,
    CROWD_BYTES = 16 * MIB,
    UNREAD = 1000,
    UNREAD_BYTES = MIB,
    FRAMES = 100000,
};

/* ---- strangers, who write to a socket what they like ---- */

static const uint8_t GREETING[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
static const uint8_t READY[] = "\x04\x29\x05READY\x0bSocket-Type\0\0\0\x06"
                               "DEALER\x08Identity\0\0\0";

static int enter(const struct fixture *fixture)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.100s",
             fixture->endpoint + strlen("ipc://"));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* One of them writes `begin`, then `again` until so many bytes are written, or it is cut off. */
struct stranger {
    int fd;
    struct weir_buf begin, again;
    size_t most, written;
    bool is_cut;
    _Atomic bool is_done;
    pthread_t thread;
};

static bool write_all(struct stranger *stranger, struct weir_bytes bytes)
{
    while (bytes.size > 0) {
        ssize_t size = send(stranger->fd, bytes.at, bytes.size, MSG_NOSIGNAL);
        if (size < 0)
            return false;
        bytes = weir_bytes(bytes.at + size, bytes.size - (size_t)size);
        stranger->written += (size_t)size;
    }
    return true;
}

static void *write_on(void *owner)
{
    struct stranger *stranger = owner;
    bool goes_on = write_all(stranger, weir_buf_view(&stranger->begin));
    while (goes_on && stranger->again.size > 0 && stranger->written < stranger->most)
        goes_on = write_all(stranger, weir_buf_view(&stranger->again));
    stranger->is_cut = !goes_on;
    stranger->is_done = true;
    return NULL;
}

/* Messages may come once the server has said that it is ready too. */
static void greet(struct stranger *stranger, const struct fixture *fixture)
{
    uint8_t heard[sizeof(GREETING) + UINT8_MAX];
    *stranger = (struct stranger){.fd = enter(fixture)};
    assert_true(write_all(stranger, weir_bytes(GREETING, sizeof(GREETING))));
    assert_true(
        write_all(stranger, weir_bytes(READY, sizeof(READY)))); /* its end is a zero of it */
    assert_int_equal(recv(stranger->fd, heard, sizeof(GREETING) + 2, MSG_WAITALL),
                     sizeof(GREETING) + 2);
    size_t size = heard[sizeof(GREETING) + 1];
    assert_int_equal(recv(stranger->fd, heard, size, MSG_WAITALL), size);
}

static void append_frame(struct weir_buf *out, struct weir_bytes body, bool more)
{
    uint8_t head[9] = {LONG | (more ? MORE : 0)};
    for (int i = 0; i < 8; i++)
        head[8 - i] = (uint8_t)((uint64_t)body.size >> (8 * i));
    weir_buf_append(out, head, sizeof(head));
    weir_buf_append(out, body.at, body.size);
}

static void leave(struct stranger *stranger)
{
    close(stranger->fd);
    weir_buf_fini(&stranger->begin);
    weir_buf_fini(&stranger->again);
}

/* ---- what the server has, and does meanwhile ---- */

static long begin_peak_kb(void)
{
    WEIR_AUTO_FD int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "5", 1), 1);
    return process_memory_kb(getpid(), "VmRSS:");
}

static void assert_grew_at_most(long before_kb, size_t most_bytes, const char *who)
{
    long grown_kb = process_memory_kb(getpid(), "VmHWM:") - before_kb;
    print_message("%s: %ld MiB more at most, bound %zu MiB\n", who, grown_kb / 1024,
                  most_bytes / MIB);
    assert_true(SANITIZED || grown_kb < (long)(most_bytes / 1024));
}

static void be_asked(struct fixture *fixture)
{
    ask(fixture, LONG_MS);
    test_loop_until(fixture->loop, &fixture->done);
    assert_string_equal(fixture->name, "storage");
}

/* Until the stranger has written all that it wants to or can, a friend asks and is answered. */
static void be_asked_during(struct fixture *fixture, struct stranger *stranger)
{
    assert_int_equal(pthread_create(&stranger->thread, NULL, write_on, stranger), 0);
    do
        be_asked(fixture);
    while (!stranger->is_done);
    pthread_join(stranger->thread, NULL);
}

/* ---- in ---- */

static void an_endless_message_of_tiny_frames_is_cut_off(void **state)
{
    struct fixture *fixture = *state;
    struct stranger stranger;
    uint64_t cuts = weir_inflow_cuts();
    greet(&stranger, fixture);
    for (size_t i = 0; i < PIECE / 2; i++)
        weir_buf_append(&stranger.again, (const uint8_t[]){MORE, 0}, 2);
    stranger.most = (size_t)1 << 30;
    long before_kb = begin_peak_kb();
    be_asked_during(fixture, &stranger);
    assert_true(stranger.is_cut);
    assert_true(stranger.written < WEIR_INFLOW_LOCAL_MAX / WEIR_INFLOW_FRAME_BYTES * 2 + MIB);
    assert_int_equal(weir_inflow_cuts(), cuts + 1);
    assert_grew_at_most(before_kb, WEIR_INFLOW_LOCAL_MAX + 32 * MIB, "tiny frames without end");
    leave(&stranger);
}

static void an_endless_message_of_large_frames_is_cut_off(void **state)
{
    struct fixture *fixture = *state;
    struct stranger stranger;
    WEIR_AUTO_BUF body = {0};
    uint64_t cuts = weir_inflow_cuts();
    greet(&stranger, fixture);
    for (size_t i = 0; i < MIB; i++)
        weir_buf_append(&body, "x", 1);
    append_frame(&stranger.again, weir_buf_view(&body), true);
    stranger.most = (size_t)4 << 30;
    long before_kb = begin_peak_kb();
    be_asked_during(fixture, &stranger);
    assert_true(stranger.is_cut);
    assert_int_equal(weir_inflow_cuts(), cuts + 1);
    assert_grew_at_most(before_kb, WEIR_INFLOW_LOCAL_MAX + 32 * MIB, "large frames without end");
    leave(&stranger);
}

static void a_message_of_100000_frames_is_refused_and_its_sender_stays(void **state)
{
    struct fixture *fixture = *state;
    struct stranger stranger;
    uint64_t cuts = weir_inflow_cuts();
    greet(&stranger, fixture);
    for (size_t i = 0; i < FRAMES; i++)
        weir_buf_append(&stranger.begin, (const uint8_t[]){MORE, 1, 'x'}, 3);
    weir_buf_append(&stranger.begin, (const uint8_t[]){0, 0}, 2);
    long before_kb = begin_peak_kb();
    be_asked_during(fixture, &stranger);
    while (weir_rpc_turned_away(fixture->server) == 0)
        be_asked(fixture);
    assert_int_equal(weir_inflow_cuts(), cuts);
    assert_grew_at_most(before_kb, 48 * MIB, "100,000 frames");
    while (weir_inflow_charged() > WEIR_INFLOW_SMALL) /* that of its friend may be on its way */
        be_asked(fixture);
    leave(&stranger);
}

static void messages_that_never_end_are_bounded_in_sum(void **state)
{
    struct fixture *fixture = *state;
    static struct stranger crowd[CROWD];
    static const char PAGE[4096] = "x";
    WEIR_AUTO_BUF body = {0};
    for (size_t i = 0; i < CROWD_BYTES / sizeof(PAGE); i++)
        weir_buf_append(&body, PAGE, sizeof(PAGE));
    long before_kb = begin_peak_kb();
    for (size_t i = 0; i < CROWD; i++) {
        greet(&crowd[i], fixture);
        append_frame(&crowd[i].begin, weir_buf_view(&body), true);
        be_asked_during(fixture, &crowd[i]);
        weir_buf_fini(&crowd[i].begin);
        assert_true(weir_inflow_charged() <= WEIR_INFLOW_MAX + CROWD * WEIR_INFLOW_SMALL);
    }
    assert_grew_at_most(before_kb, WEIR_INFLOW_MAX + 128 * MIB, "48 of 16 MiB that never end");
    for (size_t i = 0; i < CROWD; i++)
        leave(&crowd[i]);
    assert_true(weir_inflow_cuts() > 0);
    while (weir_inflow_charged() > WEIR_INFLOW_SMALL)
        be_asked(fixture);
}

static void whoever_speaks_an_older_protocol_is_cut_off(void **state)
{
    struct fixture *fixture = *state;
    struct stranger stranger = {.fd = enter(fixture), .most = MIB};
    uint64_t cuts = weir_inflow_cuts();
    weir_buf_append(&stranger.begin, "\x01\x00", 2); /* ZMTP 1.0: a frame without a name */
    weir_buf_append(&stranger.again, "\x01\x01", 2); /* one of many without content */
    be_asked_during(fixture, &stranger);
    assert_true(stranger.is_cut);
    assert_int_equal(weir_inflow_cuts(), cuts + 1);
    leave(&stranger);
}

static void requests_that_are_taken_up_are_charged_no_more(void **state)
{
    struct fixture *fixture = *state;
    uint64_t cuts = weir_inflow_cuts();
    for (int i = 0; i < WEIR_INFLOW_LOCAL_MAX / WEIR_INFLOW_PIECE_BYTES + 100; i++)
        be_asked(fixture);
    assert_int_equal(weir_inflow_cuts(), cuts);
    assert_true(weir_inflow_charged() < WEIR_INFLOW_SMALL);
}

/* Encrypted bytes tell no messages apart; the descriptor is of no socket, and so of the same one. */
static void over_tcp_only_what_is_taken_up_is_forgotten(void **state)
{
    enum { CONNECTION = 4000, FRAME = 1000, ROUNDS = 10000 };
    static uint8_t piece[9 + FRAME];
    int other;
    (void)state;
    weir_inflow_begin(CONNECTION, true);
    assert_true(weir_inflow_arrived(CONNECTION, GREETING, sizeof(GREETING), &other));
    piece[0] = LONG;
    piece[7] = FRAME >> 8;
    piece[8] = FRAME & 0xff;
    for (int i = 0; i < ROUNDS; i++) {
        assert_true(weir_inflow_arrived(CONNECTION, piece, sizeof(piece), &other));
        weir_inflow_taken(CONNECTION, 1, FRAME);
    }
    size_t arrived = 0;
    while (weir_inflow_arrived(CONNECTION, piece, sizeof(piece), &other))
        arrived += WEIR_INFLOW_PIECE_BYTES;
    assert_in_range(arrived, WEIR_INFLOW_TCP_MAX / 2, WEIR_INFLOW_TCP_MAX);
    assert_true(
        weir_inflow_arrived(CONNECTION, piece, sizeof(piece), &other)); /* over: another's */
    weir_inflow_drained();
    assert_int_equal(weir_inflow_charged(), 0);
}

/* ---- out ---- */

static void append_read(struct weir_buf *out, uint64_t request)
{
    static uint64_t ids[UNREAD_BYTES / sizeof(uint64_t)];
    const struct msg_read message = {.ids = {.at = ids, .count = UNREAD_BYTES / sizeof(uint64_t)}};
    const struct weir_envelope envelope = {
        .type = MSG_read, .request = request, .trace = 1, .deadline_ms = LONG_MS};
    uint8_t first[WEIR_ENVELOPE_BYTES];
    WEIR_AUTO_BUF header = {0};
    weir_envelope_pack(&envelope, first);
    weir_message_pack(MSG_read, &message, &header);
    append_frame(out, weir_bytes(first, sizeof(first)), true);
    append_frame(out, weir_buf_view(&header), false);
}

static void answers_that_nobody_reads_are_bounded(void **state)
{
    struct fixture *fixture = *state;
    struct stranger stranger;
    greet(&stranger, fixture);
    for (uint64_t i = 1; i <= UNREAD; i++)
        append_read(&stranger.begin, i);
    long before_kb = begin_peak_kb();
    be_asked_during(fixture, &stranger);
    be_asked(fixture);
    assert_false(stranger.is_cut);
    assert_grew_at_most(before_kb, WEIR_OUTFLOW_PEER_MAX + 96 * MIB, "answers that are not read");
    leave(&stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_endless_message_of_tiny_frames_is_cut_off, set_up_ipc,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_endless_message_of_large_frames_is_cut_off, set_up_ipc,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_of_100000_frames_is_refused_and_its_sender_stays,
                                        set_up_ipc, tear_down),
        cmocka_unit_test_setup_teardown(messages_that_never_end_are_bounded_in_sum, set_up_ipc,
                                        tear_down),
        cmocka_unit_test_setup_teardown(whoever_speaks_an_older_protocol_is_cut_off, set_up_ipc,
                                        tear_down),
        cmocka_unit_test_setup_teardown(requests_that_are_taken_up_are_charged_no_more, set_up_ipc,
                                        tear_down),
        cmocka_unit_test(over_tcp_only_what_is_taken_up_is_forgotten),
        cmocka_unit_test_setup_teardown(answers_that_nobody_reads_are_bounded, set_up_ipc,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("rpc_bounds", tests, NULL, NULL);
}
