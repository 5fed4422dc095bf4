/* The event loop of a process: sockets, file descriptors and timers in one poll(). One thread
 * owns it. Callbacks never block for longer than one piece of work (a batch, a statement). Sources
 * and timers may be added and removed from inside callbacks; there may be any number of either. */
#ifndef WEIR_LOOP_LOOP_H
#define WEIR_LOOP_LOOP_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WEIR_LOOP_SOCKETS_MAX = 4096
}; /* ZeroMQ sockets in the context; opening another one fails */

struct weir_loop;

/* Called when the source can be read (or written, if asked for). A handler that leaves work behind
 * is called again in the next round: sockets are checked level-triggered. */
typedef void weir_loop_ready_fn(void *owner);
typedef void weir_loop_timer_fn(void *owner);

struct weir_loop *weir_loop_new(void);
/* Has so many threads of ZeroMQ read and write, among whom it divides connections, instead of one. Before there is a
 * socket. */
void weir_loop_use_io_threads(struct weir_loop *loop, int threads);
void weir_loop_free(struct weir_loop *loop);
WEIR_DEFINE_AUTO(weir_loop, weir_loop_free)

/* The ZeroMQ context, created with the loop; only core/rpc opens sockets in it. */
void *weir_loop_zmq(struct weir_loop *loop);

/* `poll_events`: POLLIN, POLLOUT or both. */
void weir_loop_watch_fd(struct weir_loop *loop, int fd, short poll_events, weir_loop_ready_fn *fn,
                        void *owner);
void weir_loop_watch_socket(struct weir_loop *loop, void *socket, weir_loop_ready_fn *fn,
                            void *owner);
/* Sources that weir_loop_wait() calls, which may be watched in rounds, too; their callbacks do not wait. */
void weir_loop_watch_fd_meanwhile(struct weir_loop *loop, int fd, short poll_events,
                                  weir_loop_ready_fn *fn, void *owner);
void weir_loop_watch_socket_meanwhile(struct weir_loop *loop, void *socket, weir_loop_ready_fn *fn,
                                      void *owner);
/* Called by who has sent or received on a socket: that may have taken the news which its descriptor had. */
void weir_loop_socket_used(struct weir_loop *loop, const void *socket);
/* Wherever it is watched. */
void weir_loop_unwatch_fd(struct weir_loop *loop, int fd);
void weir_loop_unwatch_socket(struct weir_loop *loop, void *socket);

/* Calls fn once after `delay_ms`, then every `repeat_ms` if that is not 0. Returns a number > 0 for
 * cancelling. */
uint64_t weir_loop_timer(struct weir_loop *loop, int64_t delay_ms, int64_t repeat_ms,
                         weir_loop_timer_fn *fn, void *owner);
void weir_loop_cancel(struct weir_loop *loop, uint64_t timer); /* 0 and finished timers are fine */
/* Calls fn in the next round, before sleeping: for long work cut into pieces. */
void weir_loop_soon(struct weir_loop *loop, weir_loop_timer_fn *fn, void *owner);

/* The monotonic time of this round. */
int64_t weir_loop_now_ms(const struct weir_loop *loop);
/* The time of the round before: a source that can be read in this round, and left nothing behind in that one, became so
 * after it. */
int64_t weir_loop_before_ms(const struct weir_loop *loop);
/* Reads the loop's clock again: for code that waits outside the loop, or measures inside a round. */
int64_t weir_loop_clock_ms(const struct weir_loop *loop);

/* The longest time, of the last one to two minutes by the machine's clock, in which nobody was answered: between two
 * polls, in a round or in a wait. Sleeping does not count. */
int64_t weir_loop_longest_turn_ns(const struct weir_loop *loop);

/* For tests: time comes from `fn` instead of the machine, and the loop never sleeps for longer than
 * a moment, whatever its timers say. NULL goes back to the machine's clock. */
typedef int64_t weir_loop_clock_fn(void *owner);
void weir_loop_use_clock(struct weir_loop *loop, weir_loop_clock_fn *fn, void *owner);

/* Runs until weir_loop_stop(); one round with weir_loop_step(), waiting at most `wait_ms`. */
void weir_loop_run(struct weir_loop *loop);
void weir_loop_step(struct weir_loop *loop, int64_t wait_ms);
/* For a callback that has to wait in its middle: returns true once `fd` is ready, false after `wait_ms` by the
 * machine's clock (-1: never). Only sources that are watched meanwhile are called. */
bool weir_loop_wait(struct weir_loop *loop, int fd, short poll_events, int64_t wait_ms);
void weir_loop_stop(struct weir_loop *loop);
bool weir_loop_stopping(const struct weir_loop *loop);

#endif
