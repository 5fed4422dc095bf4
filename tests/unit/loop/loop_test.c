/* Timers on a clock that stands still, sources, and what callbacks may do to the loop they run in. */
#include "core/loop/loop.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

enum { SEEN_MAX = 32 };

struct fixture {
    struct weir_loop *loop;
    struct test_clock clock;
    int pipe[2];
    int signal;          /* readable from the start */
    char seen[SEEN_MAX]; /* calls, in order */
    size_t seen_count;
    uint64_t timer;
    int64_t round_ms;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.loop = weir_loop_new()};
    test_clock_start(&fixture.clock, fixture.loop);
    assert_int_equal(pipe2(fixture.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_free(fixture->loop);
    close(fixture->pipe[0]);
    close(fixture->pipe[1]);
    return 0;
}

static void see(struct fixture *fixture, char who)
{
    assert_true(fixture->seen_count < SEEN_MAX - 1);
    fixture->seen[fixture->seen_count++] = who;
}

static void on_a(void *owner)
{
    see(owner, 'a');
}

static void on_b(void *owner)
{
    see(owner, 'b');
}

static void advance(struct fixture *fixture, int64_t ms)
{
    test_clock_advance(&fixture->clock, fixture->loop, ms);
}

/* ---- timers ---- */

static void a_timer_fires_once_at_its_time(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_timer(fixture->loop, 100, 0, on_a, fixture);
    advance(fixture, 99);
    assert_string_equal(fixture->seen, "");
    advance(fixture, 1);
    assert_string_equal(fixture->seen, "a");
    advance(fixture, 1000);
    assert_string_equal(fixture->seen, "a");
}

static void timers_fire_in_the_order_they_are_due(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_timer(fixture->loop, 20, 0, on_b, fixture);
    weir_loop_timer(fixture->loop, 10, 0, on_a, fixture);
    weir_loop_timer(fixture->loop, 20, 0, on_a, fixture);
    advance(fixture, 50);
    assert_string_equal(fixture->seen, "aba");
}

static void a_repeated_timer_goes_on_until_it_is_cancelled(void **state)
{
    struct fixture *fixture = *state;
    uint64_t timer = weir_loop_timer(fixture->loop, 10, 30, on_a, fixture);
    for (int i = 0; i < 10; i++)
        advance(fixture, 10);
    assert_string_equal(fixture->seen, "aaaa"); /* at 10, 40, 70, 100 */
    weir_loop_cancel(fixture->loop, timer);
    weir_loop_cancel(fixture->loop, timer);
    weir_loop_cancel(fixture->loop, 0);
    advance(fixture, 1000);
    assert_string_equal(fixture->seen, "aaaa");
}

static void cancel_other(void *owner)
{
    struct fixture *fixture = owner;
    see(fixture, 'c');
    weir_loop_cancel(fixture->loop, fixture->timer);
}

static void a_timer_cancelled_in_its_own_round_does_not_fire(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_timer(fixture->loop, 10, 0, cancel_other, fixture);
    fixture->timer = weir_loop_timer(fixture->loop, 10, 0, on_b, fixture);
    advance(fixture, 10);
    assert_string_equal(fixture->seen, "c");
}

static void cancel_itself(void *owner)
{
    struct fixture *fixture = owner;
    see(fixture, 'x');
    weir_loop_cancel(fixture->loop, fixture->timer);
}

static void a_repeated_timer_may_cancel_itself(void **state)
{
    struct fixture *fixture = *state;
    fixture->timer = weir_loop_timer(fixture->loop, 0, 10, cancel_itself, fixture);
    advance(fixture, 0);
    advance(fixture, 50);
    assert_string_equal(fixture->seen, "x");
}

static void again_soon(void *owner)
{
    struct fixture *fixture = owner;
    see(fixture, 's');
    weir_loop_soon(fixture->loop, again_soon, fixture);
}

static void soon_is_the_next_round_and_not_this_one(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_soon(fixture->loop, again_soon, fixture);
    weir_loop_step(fixture->loop, 1000);
    assert_string_equal(fixture->seen, "s");
    weir_loop_step(fixture->loop, 1000);
    assert_string_equal(fixture->seen, "ss");
}

static void keep_round(void *owner)
{
    struct fixture *fixture = owner;
    fixture->round_ms = weir_loop_now_ms(fixture->loop);
}

static void the_round_has_one_time(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_soon(fixture->loop, keep_round, fixture);
    advance(fixture, 5);
    assert_int_equal(fixture->round_ms, fixture->clock.now_ms);
    fixture->clock.now_ms += 7;
    assert_int_equal(weir_loop_now_ms(fixture->loop), fixture->round_ms);
    assert_int_equal(weir_loop_clock_ms(fixture->loop), fixture->round_ms + 7);
}

static void the_real_clock_wakes_the_loop(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_use_clock(fixture->loop, NULL, NULL);
    weir_loop_timer(fixture->loop, 5, 0, on_a, fixture);
    int64_t started = weir_now_ms();
    while (fixture->seen_count == 0)
        weir_loop_step(fixture->loop, TEST_PATIENCE_MS);
    assert_true(weir_now_ms() - started >= 5);
}

/* ---- many timers ---- */

enum { CROWD = 5000 };

struct crowd {
    struct weir_loop *loop;
    uint64_t timers[CROWD];
    int64_t last_due_ms;
    size_t fired;
};

struct in_crowd {
    struct crowd *crowd;
    int64_t due_ms;
};

static void fire_in_order(void *owner)
{
    const struct in_crowd *one = owner;
    assert_true(one->due_ms >= one->crowd->last_due_ms);
    one->crowd->last_due_ms = one->due_ms;
    one->crowd->fired++;
}

static void any_number_of_timers_fires_in_order_and_can_be_cancelled(void **state)
{
    struct fixture *fixture = *state;
    static struct in_crowd each[CROWD];
    static struct crowd crowd;
    crowd = (struct crowd){.loop = fixture->loop};
    for (size_t i = 0; i < CROWD; i++) {
        each[i] = (struct in_crowd){&crowd, (int64_t)(i * 7919 % CROWD)};
        crowd.timers[i] =
            weir_loop_timer(fixture->loop, each[i].due_ms, 0, fire_in_order, &each[i]);
    }
    for (size_t i = 0; i < CROWD; i += 3)
        weir_loop_cancel(fixture->loop, crowd.timers[i]);
    advance(fixture, CROWD / 2);
    assert_true(crowd.fired > 0 && crowd.fired < CROWD / 2);
    advance(fixture, CROWD);
    assert_int_equal(crowd.fired, CROWD - (CROWD + 2) / 3);
}

static void a_finished_timer_s_number_cancels_no_later_timer(void **state)
{
    struct fixture *fixture = *state;
    uint64_t first = weir_loop_timer(fixture->loop, 10, 0, on_a, fixture);
    advance(fixture, 10);
    weir_loop_timer(fixture->loop, 10, 0, on_b, fixture);
    weir_loop_cancel(fixture->loop, first);
    advance(fixture, 10);
    assert_string_equal(fixture->seen, "ab");
}

/* ---- sources ---- */

static void count_call(void *owner)
{
    size_t *calls = owner;
    ++*calls;
}

static void any_number_of_sources_is_served(void **state)
{
    struct fixture *fixture = *state;
    size_t calls = 0;
    assert_int_equal(write(fixture->pipe[1], "x", 1), 1);
    for (size_t i = 0; i < CROWD; i++)
        weir_loop_watch_fd(fixture->loop, fixture->pipe[0], POLLIN, count_call, &calls);
    weir_loop_step(fixture->loop, 0);
    assert_int_equal(calls, CROWD);
    weir_loop_unwatch_fd(fixture->loop, fixture->pipe[0]);
    weir_loop_step(fixture->loop, 0);
    assert_int_equal(calls, CROWD);
}

static void on_readable(void *owner)
{
    see(owner, 'r');
}

static void a_readable_fd_is_called_until_it_is_read(void **state)
{
    struct fixture *fixture = *state;
    char byte;
    weir_loop_watch_fd(fixture->loop, fixture->pipe[0], POLLIN, on_readable, fixture);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "");
    assert_int_equal(write(fixture->pipe[1], "x", 1), 1);
    weir_loop_step(fixture->loop, 0);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "rr");
    assert_int_equal(read(fixture->pipe[0], &byte, 1), 1);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "rr");
    weir_loop_unwatch_fd(fixture->loop, fixture->pipe[0]);
}

static void unwatch_both(void *owner)
{
    struct fixture *fixture = owner;
    see(fixture, 'u');
    weir_loop_unwatch_fd(fixture->loop, fixture->pipe[0]);
    weir_loop_unwatch_fd(fixture->loop, fixture->pipe[1]);
}

static void a_source_removed_in_this_round_is_not_called(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(write(fixture->pipe[1], "x", 1), 1);
    weir_loop_watch_fd(fixture->loop, fixture->pipe[0], POLLIN, unwatch_both, fixture);
    weir_loop_watch_fd(fixture->loop, fixture->pipe[1], POLLOUT, unwatch_both, fixture);
    weir_loop_step(fixture->loop, 0);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "u");
}

static void swap_sources(void *owner)
{
    struct fixture *fixture = owner;
    see(fixture, '1');
    weir_loop_unwatch_fd(fixture->loop, fixture->pipe[0]);
    weir_loop_watch_fd(fixture->loop, fixture->pipe[0], POLLIN, on_readable, fixture);
}

static void a_source_added_in_this_round_waits_for_the_next(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(write(fixture->pipe[1], "x", 1), 1);
    weir_loop_watch_fd(fixture->loop, fixture->pipe[0], POLLIN, swap_sources, fixture);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "1");
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "1r");
}

static void a_socket_with_messages_left_is_called_again(void **state)
{
    struct fixture *fixture = *state;
    void *in = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_PAIR);
    void *out = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_PAIR);
    assert_int_equal(zmq_bind(in, "inproc://pair"), 0);
    assert_int_equal(zmq_connect(out, "inproc://pair"), 0);
    weir_loop_watch_socket(fixture->loop, in, on_readable, fixture);
    zmq_send(out, "x", 1, 0);
    weir_loop_step(fixture->loop, TEST_STEP_MS);
    weir_loop_step(fixture->loop, TEST_STEP_MS);
    assert_string_equal(fixture->seen, "rr");
    weir_loop_unwatch_socket(fixture->loop, in);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "rr");
    zmq_close(in);
    zmq_close(out);
}

/* A pair with a message on its way to `in`, whose descriptor no longer tells of it: another call has. */
static void take_news(struct fixture *fixture, void **in, void **out)
{
    int events = 0;
    size_t size = sizeof(events);
    *in = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_PAIR);
    *out = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_PAIR);
    assert_int_equal(zmq_bind(*in, "inproc://pair"), 0);
    assert_int_equal(zmq_connect(*out, "inproc://pair"), 0);
    weir_loop_watch_socket(fixture->loop, *in, on_readable, fixture);
    weir_loop_step(fixture->loop, TEST_STEP_MS);
    zmq_send(*out, "x", 1, 0);
    assert_int_equal(zmq_getsockopt(*in, ZMQ_EVENTS, &events, &size), 0);
    assert_true((events & ZMQ_POLLIN) != 0);
}

static void a_socket_that_was_used_is_called_by_a_loop_that_does_not_wait(void **state)
{
    struct fixture *fixture = *state;
    void *in, *out;
    take_news(fixture, &in, &out);
    weir_loop_socket_used(fixture->loop, in);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "r");
    zmq_close(in);
    zmq_close(out);
}

static void no_loop_sleeps_over_a_message_whatever_took_the_news_of_it(void **state)
{
    struct fixture *fixture = *state;
    void *in, *out;
    take_news(fixture, &in, &out);
    weir_loop_step(fixture->loop, TEST_STEP_MS);
    assert_string_equal(fixture->seen, "r");
    zmq_close(in);
    zmq_close(out);
}

/* ---- stopping ---- */

static void stop_it(void *owner)
{
    struct fixture *fixture = owner;
    see(fixture, 'z');
    weir_loop_stop(fixture->loop);
}

static void a_stopped_loop_calls_nobody_any_more(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_timer(fixture->loop, 0, 0, stop_it, fixture);
    weir_loop_timer(fixture->loop, 0, 0, on_b, fixture);
    assert_false(weir_loop_stopping(fixture->loop));
    weir_loop_run(fixture->loop);
    assert_true(weir_loop_stopping(fixture->loop));
    assert_string_equal(fixture->seen, "z");
}

static void read_all(void *owner)
{
    const struct fixture *fixture = owner;
    char bytes[4096];
    see(owner, 'r');
    while (read(fixture->pipe[0], bytes, sizeof(bytes)) > 0)
        continue;
    weir_loop_unwatch_fd(fixture->loop, fixture->pipe[0]);
}

static void a_writable_fd_is_called_once_there_is_room(void **state)
{
    struct fixture *fixture = *state;
    static const char BYTES[4096];
    while (write(fixture->pipe[1], BYTES, sizeof(BYTES)) > 0)
        continue;
    weir_loop_watch_fd(fixture->loop, fixture->pipe[1], POLLOUT, on_a, fixture);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "");
    weir_loop_watch_fd(fixture->loop, fixture->pipe[0], POLLIN, read_all, fixture);
    weir_loop_step(fixture->loop, 0);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "ra");
}

/* ---- waiting inside a callback ---- */

static void end_the_wait(void *owner)
{
    const struct fixture *fixture = owner;
    see(owner, 'm');
    assert_int_equal(write(fixture->pipe[1], "x", 1), 1);
    weir_loop_unwatch_fd(fixture->loop, fixture->signal);
}

static void wait_in_the_middle(void *owner)
{
    struct fixture *fixture = owner;
    see(fixture, '(');
    assert_true(weir_loop_wait(fixture->loop, fixture->pipe[0], POLLIN, -1));
    see(fixture, ')');
}

static void only_what_is_watched_meanwhile_is_called_while_a_callback_waits(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_soon(fixture->loop, wait_in_the_middle, fixture);
    weir_loop_soon(fixture->loop, on_b, fixture);
    fixture->signal = eventfd(1, EFD_CLOEXEC);
    weir_loop_watch_fd(fixture->loop, fixture->signal, POLLIN, on_a, fixture);
    weir_loop_watch_fd_meanwhile(fixture->loop, fixture->signal, POLLIN, end_the_wait, fixture);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "a(m)b");
    weir_loop_step(fixture->loop, 0); /* it is watched nowhere any more */
    assert_string_equal(fixture->seen, "a(m)b");
    close(fixture->signal);
}

static void wait_in_vain(void *owner)
{
    struct fixture *fixture = owner;
    assert_false(weir_loop_wait(fixture->loop, fixture->pipe[0], POLLIN, 1));
    see(fixture, 'v');
}

static void a_wait_in_a_callback_ends_when_its_time_is_over(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_soon(fixture->loop, wait_in_vain, fixture);
    weir_loop_step(fixture->loop, 0);
    assert_string_equal(fixture->seen, "v");
}

static void a_loop_that_is_to_stop_waits_alone(void **state)
{
    struct fixture *fixture = *state;
    fixture->signal = eventfd(1, EFD_CLOEXEC);
    weir_loop_watch_fd_meanwhile(fixture->loop, fixture->signal, POLLIN, on_a, fixture);
    weir_loop_stop(fixture->loop);
    assert_false(weir_loop_wait(fixture->loop, fixture->pipe[0], POLLIN, 1));
    assert_int_equal(write(fixture->pipe[1], "x", 1), 1);
    assert_true(weir_loop_wait(fixture->loop, fixture->pipe[0], POLLIN, -1));
    assert_string_equal(fixture->seen, "");
    weir_loop_unwatch_fd(fixture->loop, fixture->signal);
    close(fixture->signal);
}

/* Returns the number of threads that ZeroMQ reads and writes by. */
static int count_io_threads(void)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *thread;
    int count = 0;
    assert_non_null(threads);
    while ((thread = readdir(threads)) != NULL) {
        char path[300], name[16] = "";
        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", thread->d_name);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue;
        count += fgets(name, sizeof(name), file) != NULL && strncmp(name, "ZMQbg/IO/", 9) == 0;
        (void)fclose(file);
    }
    (void)closedir(threads);
    return count;
}

enum { BUSY_NS = 3000000 };

static void be_busy(void)
{
    int64_t until_ns = weir_now_ns() + BUSY_NS;
    while (weir_now_ns() < until_ns)
        ;
}

static void be_busy_in_a_round(void *owner)
{
    struct fixture *fixture = owner;
    be_busy();
    weir_loop_soon(fixture->loop, on_a, fixture);
}

static void the_longest_turn_is_known_when_it_is_over(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(weir_loop_longest_turn_ns(fixture->loop), 0);
    weir_loop_soon(fixture->loop, be_busy_in_a_round, fixture);
    weir_loop_step(fixture->loop, 0);
    weir_loop_step(fixture->loop, 0);
    assert_true(weir_loop_longest_turn_ns(fixture->loop) >= BUSY_NS);
    int64_t longest_ns = weir_loop_longest_turn_ns(fixture->loop);
    weir_loop_step(fixture->loop, 0);
    assert_true(weir_loop_longest_turn_ns(fixture->loop) >= longest_ns);
}

static void as_many_threads_read_as_were_asked_for(void **state)
{
    struct fixture *fixture = *state;
    weir_loop_use_io_threads(fixture->loop, 3);
    void *socket = zmq_socket(weir_loop_zmq(fixture->loop), ZMQ_ROUTER);
    for (int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS; count_io_threads() != 3;)
        assert_true(weir_now_ms() < limit_ms); /* each gives itself its name */
    zmq_close(socket);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_timer_fires_once_at_its_time),
        TEST(timers_fire_in_the_order_they_are_due),
        TEST(a_repeated_timer_goes_on_until_it_is_cancelled),
        TEST(a_timer_cancelled_in_its_own_round_does_not_fire),
        TEST(a_repeated_timer_may_cancel_itself),
        TEST(soon_is_the_next_round_and_not_this_one),
        TEST(the_round_has_one_time),
        TEST(the_real_clock_wakes_the_loop),
        TEST(any_number_of_timers_fires_in_order_and_can_be_cancelled),
        TEST(a_finished_timer_s_number_cancels_no_later_timer),
        TEST(any_number_of_sources_is_served),
        TEST(a_readable_fd_is_called_until_it_is_read),
        TEST(a_source_removed_in_this_round_is_not_called),
        TEST(a_source_added_in_this_round_waits_for_the_next),
        TEST(a_socket_with_messages_left_is_called_again),
        TEST(a_socket_that_was_used_is_called_by_a_loop_that_does_not_wait),
        TEST(no_loop_sleeps_over_a_message_whatever_took_the_news_of_it),
        TEST(a_stopped_loop_calls_nobody_any_more),
        TEST(a_writable_fd_is_called_once_there_is_room),
        TEST(only_what_is_watched_meanwhile_is_called_while_a_callback_waits),
        TEST(a_wait_in_a_callback_ends_when_its_time_is_over),
        TEST(a_loop_that_is_to_stop_waits_alone),
        TEST(the_longest_turn_is_known_when_it_is_over),
        TEST(as_many_threads_read_as_were_asked_for),
    };
#undef TEST
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
