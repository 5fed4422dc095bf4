/* Lines for a reader that may not read: nothing blocks, nothing is lost within the bound, and what is lost beyond it is
 * told of. */
#include "orchestrator/screen/output.h"

#include "core/base/memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINE_BYTES = 64 };

struct fixture {
    int ends[2];
    struct output output;
    struct weir_buf read; /* by the reader */
};

static void start(struct fixture *fixture, bool json)
{
    *fixture = (struct fixture){0};
    assert_int_equal(pipe(fixture->ends), 0);
    assert_true(fcntl(fixture->ends[0], F_SETPIPE_SZ, 4096) >= 4096);
    assert_int_equal(fcntl(fixture->ends[0], F_SETFL, O_NONBLOCK), 0);
    orchestrator_output_init(&fixture->output, fixture->ends[1], json);
}

static void end(struct fixture *fixture)
{
    orchestrator_output_fini(&fixture->output);
    weir_buf_fini(&fixture->read);
    for (size_t i = 0; i < 2; i++)
        if (fixture->ends[i] >= 0)
            (void)close(fixture->ends[i]);
}

static void put(struct fixture *fixture, unsigned number)
{
    char line[LINE_BYTES + 1];
    (void)snprintf(line, sizeof(line), "%*u\n", LINE_BYTES - 1, number);
    orchestrator_output_put(&fixture->output, weir_bytes_of(line));
}

static void read_what_is_there(struct fixture *fixture)
{
    char piece[4096];
    ssize_t got;
    while ((got = read(fixture->ends[0], piece, sizeof(piece))) > 0)
        weir_buf_append(&fixture->read, piece, (size_t)got);
}

static void read_all(struct fixture *fixture)
{
    bool is_all = false;
    while (!is_all) {
        is_all = orchestrator_output_flush(&fixture->output);
        read_what_is_there(fixture);
    }
}

static void lines_wait_for_a_reader_in_order(void **unused)
{
    (void)unused;
    enum { LINES = 1000 };
    struct fixture fixture;
    start(&fixture, true);
    for (unsigned i = 0; i < LINES; i++)
        put(&fixture, i);
    assert_false(orchestrator_output_flush(&fixture.output));
    read_all(&fixture);
    assert_int_equal(fixture.read.size, LINES * LINE_BYTES);
    for (unsigned i = 0; i < LINES; i++)
        assert_int_equal(strtoul((const char *)fixture.read.at + (size_t)i * LINE_BYTES, NULL, 10),
                         i);
    end(&fixture);
}

static void lines_beyond_the_bound_are_dropped_and_told_of(void **unused)
{
    (void)unused;
    enum { LINES = 2 * OUTPUT_WAITING_MAX / LINE_BYTES };
    struct fixture fixture;
    char reported[64];
    start(&fixture, true);
    for (unsigned i = 0; i < LINES; i++)
        put(&fixture, i);
    assert_true(fixture.output.waiting.size <= OUTPUT_WAITING_MAX);
    read_all(&fixture);
    size_t kept = fixture.read.size / LINE_BYTES;
    put(&fixture, LINES);
    read_all(&fixture);
    weir_buf_append(&fixture.read, "", 1);
    (void)snprintf(reported, sizeof(reported), "{\"event\":\"lines_dropped\",\"lines\":%zu}\n",
                   (size_t)LINES - kept);
    const char *rest = (const char *)fixture.read.at + kept * LINE_BYTES;
    assert_int_equal(strncmp(rest, reported, strlen(reported)), 0);
    assert_int_equal(strtoul(rest + strlen(reported), NULL, 10), LINES);
    end(&fixture);
}

static void the_end_waits_only_while_somebody_reads(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, false);
    for (unsigned i = 0; i < 1000; i++)
        put(&fixture, i);
    orchestrator_output_end(&fixture.output, 1);
    assert_false(orchestrator_output_flush(&fixture.output));
    (void)close(fixture.ends[0]);
    fixture.ends[0] = -1;
    orchestrator_output_end(&fixture.output,
                            -1); /* a pipe without a reader takes nothing, at once */
    assert_int_equal(fixture.output.fd, -1);
    put(&fixture, 0);
    assert_true(orchestrator_output_flush(&fixture.output));
    end(&fixture);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_wait_for_a_reader_in_order),
        cmocka_unit_test(lines_beyond_the_bound_are_dropped_and_told_of),
        cmocka_unit_test(the_end_waits_only_while_somebody_reads),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
