/* Charging connections for what ZeroMQ holds of them. Of ZMTP (https://rfc.zeromq.org/spec/23) it reads where frames
 * begin, and whether more follow. */
#include "core/rpc/inflow.h"

#include "core/base/memory.h"
#include "core/rpc/socket.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    GREETING_BYTES = 64,
    HEAD_MAX = 9, /* flags, and a size of 1 or 8 bytes */
    MORE = 1,
    LONG = 2,
    COMMAND = 4,
    HANDSHAKE_FRAMES = 2, /* from a client of CURVE: HELLO and INITIATE */
};

struct connection {
    bool is_open, is_sealed;
    /* the kernel's name of the socket: ZeroMQ closes descriptors without telling */
    uint64_t cookie;
    uint64_t read; /* bytes of the greeting so far */
    uint64_t left; /* of the frame at hand */
    uint8_t head[HEAD_MAX];
    size_t head_size;
    unsigned frames;       /* begun so far, counted until the handshake is recognised */
    size_t charge;         /* of all that is not taken up … */
    size_t charge_whole;   /* … of that, what belongs to complete messages */
    uint64_t whole, taken; /* complete messages */
};

static struct {
    pthread_mutex_t mutex;
    struct connection *at; /* by descriptor */
    size_t count;
    size_t charge;  /* of all that are open */
    size_t orphans; /* of complete messages whose connections are over */
    bool has_large; /* one is charged more than WEIR_INFLOW_SMALL, as far as is known */
    uint64_t cuts;
    bool keys_are_known; /* of those over TCP that get past the handshake */
} inflow = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct connection *find(int fd)
{
    bool is_known = fd >= 0 && (size_t)fd < inflow.count && inflow.at[fd].is_open;
    return is_known ? &inflow.at[fd] : NULL;
}

static void discharge(struct connection *connection, size_t size)
{
    size = size < connection->charge ? size : connection->charge;
    connection->charge -= size;
    inflow.charge -= size;
}

static void end(struct connection *connection)
{
    inflow.orphans += connection->charge_whole;
    discharge(connection, connection->charge);
    *connection = (struct connection){.is_open = false};
}

void weir_inflow_begin(int fd, bool is_sealed)
{
    if (fd < 0)
        return;
    pthread_mutex_lock(&inflow.mutex);
    if ((size_t)fd >= inflow.count) {
        size_t count = ((size_t)fd + 1) * 2;
        inflow.at = weir_realloc(inflow.at, count, sizeof(*inflow.at));
        for (size_t i = inflow.count; i < count; i++)
            inflow.at[i] = (struct connection){.is_open = false};
        inflow.count = count;
    }
    end(&inflow.at[fd]);
    inflow.at[fd] = (struct connection){
        .is_open = true, .is_sealed = is_sealed, .cookie = weir_socket_cookie(fd)};
    pthread_mutex_unlock(&inflow.mutex);
}

/* ---- ZMTP ---- */

/* Older protocols than ZMTP 3 count differently, and nobody of ours speaks them. */
static bool greet(struct connection *connection, uint8_t byte)
{
    static const struct {
        size_t at;
        uint8_t least;
    } MARKS[] = {{0, 0xff}, {9, 0x7f}, {10, 3}};
    for (size_t i = 0; i < WEIR_COUNT(MARKS); i++)
        if (connection->read == MARKS[i].at && byte < MARKS[i].least)
            return false;
    connection->read++;
    return true;
}

static void complete(struct connection *connection)
{
    connection->whole++;
    connection->charge_whole = connection->charge;
}

/* Counts a frame of a handshake. Returns false for one by which somebody who is not let in yet would have memory
 * taken. */
static bool count_handshake(struct connection *connection)
{
    if (!connection->is_sealed || connection->frames == HANDSHAKE_FRAMES)
        return true;
    connection->frames++;
    return connection->left <= WEIR_INFLOW_HANDSHAKE_MAX;
}

/* The byte belongs to the head of a frame. Charges the frame once it is known. False: it may not come. */
static bool begin_frame(struct connection *connection, uint8_t byte)
{
    uint8_t *head = connection->head;
    head[connection->head_size++] = byte;
    if (connection->head_size < ((head[0] & LONG) != 0 ? HEAD_MAX : 2))
        return true;
    connection->left = 0;
    for (size_t i = 1; i < connection->head_size; i++)
        connection->left = connection->left << 8 | head[i];
    connection->head_size = 0;
    connection->charge += WEIR_INFLOW_FRAME_BYTES;
    inflow.charge += WEIR_INFLOW_FRAME_BYTES;
    return count_handshake(connection);
}

static bool is_whole(const struct connection *connection)
{
    return connection->left == 0 && connection->head_size == 0 &&
           (connection->head[0] & (MORE | COMMAND)) == 0;
}

/* False: it does not speak ZMTP 3, or nobody who is let in. */
static bool follow(struct connection *connection, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t step = 1;
        if (connection->read < GREETING_BYTES) {
            if (!greet(connection, *bytes))
                return false;
        } else if (connection->left > 0) {
            step = size < connection->left ? size : (size_t)connection->left;
            connection->left -= step;
            if (is_whole(connection))
                complete(connection);
        } else {
            if (!begin_frame(connection, *bytes))
                return false;
            if (is_whole(connection))
                complete(connection);
        }
        bytes += step;
        size -= step;
    }
    return true;
}

/* ---- bounds ---- */

static bool is_over(const struct connection *connection)
{
    bool is_any = connection->is_sealed && !inflow.keys_are_known;
    return connection->charge > (is_any ? WEIR_INFLOW_TCP_MAX : WEIR_INFLOW_LOCAL_MAX);
}

/* The one that is charged most; its descriptor is another socket's now when it was closed meanwhile. */
static int find_largest(void)
{
    size_t most = WEIR_INFLOW_SMALL;
    int largest = -1;
    for (size_t fd = 0; fd < inflow.count; fd++) {
        if (inflow.at[fd].is_open && inflow.at[fd].charge > most) {
            most = inflow.at[fd].charge;
            largest = (int)fd;
        }
    }
    return largest;
}

/* True: the socket is still the one that was charged. */
static bool cut(int fd)
{
    struct connection *connection = find(fd);
    bool is_same = connection->cookie == weir_socket_cookie(fd);
    inflow.cuts += is_same;
    end(connection);
    return is_same;
}

/* Cuts the largest until the sum is within its bound; one of them, at most, is not `fd`. A crowd of small ones, none of
 * which is cut, is looked through once, not for each piece that comes. */
static bool keep_to_sum(int fd, int *ret_other)
{
    bool goes_on = true;
    inflow.has_large |= find(fd)->charge > WEIR_INFLOW_SMALL;
    while (goes_on && inflow.has_large && *ret_other < 0 &&
           inflow.charge + inflow.orphans > WEIR_INFLOW_MAX) {
        int largest = find_largest();
        inflow.has_large = largest >= 0;
        if (largest < 0)
            break;
        bool is_cut = cut(largest);
        if (largest == fd)
            goes_on = !is_cut;
        else if (is_cut)
            *ret_other = largest;
    }
    return goes_on;
}

bool weir_inflow_arrived(int fd, const uint8_t *bytes, size_t size, int *ret_other)
{
    *ret_other = -1;
    pthread_mutex_lock(&inflow.mutex);
    struct connection *connection = find(fd);
    bool goes_on = true;
    if (connection != NULL) {
        size_t cost = size > WEIR_INFLOW_PIECE_BYTES ? size : WEIR_INFLOW_PIECE_BYTES;
        connection->charge += cost;
        inflow.charge += cost;
        if (!follow(connection, bytes, size) || is_over(connection))
            goes_on = !cut(fd);
        else
            goes_on = keep_to_sum(fd, ret_other);
    }
    pthread_mutex_unlock(&inflow.mutex);
    return goes_on;
}

void weir_inflow_end(int fd)
{
    pthread_mutex_lock(&inflow.mutex);
    struct connection *connection = find(fd);
    if (connection != NULL)
        end(connection);
    pthread_mutex_unlock(&inflow.mutex);
}

void weir_inflow_expect_keys(void)
{
    pthread_mutex_lock(&inflow.mutex);
    inflow.keys_are_known = true;
    pthread_mutex_unlock(&inflow.mutex);
}

int weir_inflow_next_sealed(int fd, uint64_t *ret_cookie)
{
    int next = -1;
    pthread_mutex_lock(&inflow.mutex);
    for (size_t at = (size_t)(fd + 1); at < inflow.count && next < 0; at++) {
        if (!inflow.at[at].is_open || !inflow.at[at].is_sealed)
            continue;
        *ret_cookie = inflow.at[at].cookie;
        next = (int)at;
    }
    pthread_mutex_unlock(&inflow.mutex);
    return next;
}

/* ---- what is taken up ---- */

/* A message that came in many small pieces was charged more: the rest goes with the last that is here. */
static void take(struct connection *connection, size_t size)
{
    bool is_last = ++connection->taken >= connection->whole;
    if (connection->is_sealed) {
        discharge(connection, connection->charge);
        connection->charge_whole = 0;
        return;
    }
    size += WEIR_INFLOW_PIECE_BYTES;
    if (is_last || size > connection->charge_whole)
        size = connection->charge_whole;
    connection->charge_whole -= size;
    discharge(connection, size);
}

void weir_inflow_taken(int fd, size_t frames, size_t bytes)
{
    if (fd < 0) /* within the process */
        return;
    size_t size = bytes + frames * WEIR_INFLOW_FRAME_BYTES;
    pthread_mutex_lock(&inflow.mutex);
    struct connection *connection = find(fd);
    if (connection != NULL && connection->taken < connection->whole)
        take(connection, size);
    else /* of a connection that is over, and whose descriptor may be another's */
        inflow.orphans -= size < inflow.orphans ? size : inflow.orphans;
    pthread_mutex_unlock(&inflow.mutex);
}

void weir_inflow_drained(void)
{
    pthread_mutex_lock(&inflow.mutex);
    inflow.orphans = 0;
    pthread_mutex_unlock(&inflow.mutex);
}

uint64_t weir_inflow_cuts(void)
{
    pthread_mutex_lock(&inflow.mutex);
    uint64_t cuts = inflow.cuts;
    pthread_mutex_unlock(&inflow.mutex);
    return cuts;
}

size_t weir_inflow_charged(void)
{
    pthread_mutex_lock(&inflow.mutex);
    size_t charge = inflow.charge + inflow.orphans;
    pthread_mutex_unlock(&inflow.mutex);
    return charge;
}
