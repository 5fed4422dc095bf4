/* A descriptor that poll() calls writable takes a piece without blocking: a pipe has a free page then (PIPE_BUF), a
 * terminal a few hundred bytes. The descriptor itself stays as it is, for it may be shared with a shell. */
#include "orchestrator/screen/output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { TERMINAL_PIECE_BYTES = 256 };

void orchestrator_output_init(struct output *output, int fd, bool json)
{
    *output = (struct output){
        .fd = fd, .json = json, .piece_bytes = isatty(fd) == 1 ? TERMINAL_PIECE_BYTES : PIPE_BUF};
}

void orchestrator_output_fini(struct output *output)
{
    weir_buf_fini(&output->waiting);
}

static bool is_writable(const struct output *output, int wait_ms)
{
    struct pollfd watched = {.fd = output->fd, .events = POLLOUT};
    int ready = poll(&watched, 1, wait_ms);
    return ready > 0 || (ready < 0 && errno != EINTR); /* write() says what is wrong */
}

static void forget(struct output *output)
{
    weir_buf_clear(&output->waiting);
    output->sent = 0;
}

/* Lines are not cut without need: another process may write to the same pipe. */
static size_t next_piece(const struct output *output)
{
    const uint8_t *from = output->waiting.at + output->sent;
    size_t size = output->waiting.size - output->sent;
    if (size <= output->piece_bytes)
        return size;
    const uint8_t *end = memrchr(from, '\n', output->piece_bytes);
    return end != NULL ? (size_t)(end - from) + 1 : output->piece_bytes;
}

static void write_piece(struct output *output)
{
    ssize_t written = write(output->fd, output->waiting.at + output->sent, next_piece(output));
    if (written < 0 && errno != EINTR && errno != EAGAIN) {
        output->fd = -1; /* nobody will read */
        forget(output);
    }
    output->sent += written > 0 ? (size_t)written : 0;
}

static bool is_empty(const struct output *output)
{
    return output->sent == output->waiting.size;
}

bool orchestrator_output_flush(struct output *output)
{
    while (!is_empty(output) && is_writable(output, 0))
        write_piece(output);
    if (is_empty(output))
        forget(output);
    return is_empty(output);
}

void orchestrator_output_end(struct output *output, int patience_ms)
{
    while (!is_empty(output) && is_writable(output, patience_ms))
        write_piece(output);
}

static void tell_dropped(struct output *output)
{
    if (output->json)
        weir_buf_printf(&output->waiting, "{\"event\":\"lines_dropped\",\"lines\":%" PRIu64 "}\n",
                        output->dropped);
    else
        weir_buf_printf(&output->waiting, "(%" PRIu64 " lines were dropped: nobody read them)\n",
                        output->dropped);
    output->dropped = 0;
}

/* Room is made by halves, so that moving costs little for each byte. */
static void make_room(struct output *output)
{
    if (output->sent == 0 || output->sent < output->waiting.size / 2)
        return;
    output->waiting.size -= output->sent;
    memmove(output->waiting.at, output->waiting.at + output->sent, output->waiting.size);
    output->sent = 0;
}

void orchestrator_output_put(struct output *output, struct weir_bytes text)
{
    if (output->fd < 0)
        return;
    (void)orchestrator_output_flush(output);
    make_room(output);
    size_t waiting = output->waiting.size - output->sent;
    /* Once lines are lost, half of the room has to be free: the gaps are few and reported. */
    size_t room = output->dropped > 0 ? OUTPUT_WAITING_MAX / 2 : OUTPUT_WAITING_MAX;
    if (waiting > 0 && (waiting > room || text.size > room - waiting)) {
        output->dropped++;
        return;
    }
    if (output->dropped > 0)
        tell_dropped(output);
    weir_buf_append(&output->waiting, text.at, text.size);
    (void)orchestrator_output_flush(output);
}
