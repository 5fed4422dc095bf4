/* Resident memory of a session: what its leader holds, what its children hold, and what is not its own. */
#include "orchestrator/processes/resident.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

/* Holds `size` bytes, says so, and stays. */
static void hold(size_t size, int report_fd)
{
    void *held = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (held == MAP_FAILED)
        _exit(1);
    memset(held, 1, size);
    (void)!write(report_fd, "", 1);
    for (;;)
        (void)pause();
}

static void await(int fd, void *bytes, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t more = read(fd, (char *)bytes + got, size - got);
        assert_true(more > 0);
        got += (size_t)more;
    }
}

/* A session of its own, with a child that has begun another one. */
static pid_t start_session(pid_t *ret_child)
{
    int fds[2], numbers[2];
    char said[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pipe(numbers), 0);
    pid_t leader = fork();
    if (leader == 0) {
        (void)setsid();
        pid_t child = fork();
        if (child == 0) {
            (void)setsid();
            hold((size_t)32 * MIB, fds[1]);
        }
        (void)!write(numbers[1], &child, sizeof(child));
        hold((size_t)64 * MIB, fds[1]);
    }
    await(numbers[0], ret_child, sizeof(*ret_child));
    await(fds[0], said, sizeof(said));
    for (size_t i = 0; i < 2; i++) {
        (void)close(fds[i]);
        (void)close(numbers[i]);
    }
    return leader;
}

static void a_session_holds_what_its_descendants_hold(void **unused)
{
    (void)unused;
    pid_t child = 0;
    pid_t leader = start_session(&child);
    uint64_t bytes = orchestrator_resident_bytes(leader);
    assert_in_range(bytes, 96 * MIB, 1024 * MIB);
    assert_true(orchestrator_resident_bytes(getpid()) >= bytes); /* it is our child */
    assert_int_equal(kill(leader, SIGKILL), 0);
    assert_int_equal(waitpid(leader, NULL, 0), leader);
    assert_int_equal(orchestrator_resident_bytes(leader), 0);
    assert_in_range(orchestrator_resident_bytes(child), 32 * MIB, 512 * MIB);
    assert_int_equal(kill(child, SIGKILL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_holds_what_its_descendants_hold),
    };
    return cmocka_run_group_tests_name("resident", tests, NULL, NULL);
}
