/* Lent memory: what is written under a loan is read by its owner, once, and by nobody else's leave. */
#include "core/base/memory.h"
#include "core/rpc/segment.h"
#include "core/rpc/segment_layout.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 10000 };

struct fixture {
    struct weir_loop *loop;
    struct weir_segment *segment;
    struct weir_borrowed *borrowed;
};

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->loop = weir_loop_new();
    fixture->segment = weir_segment_new(SIZE);
    fixture->borrowed = weir_borrowed_new(fixture->loop);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    weir_borrowed_free(fixture->borrowed);
    weir_segment_free(fixture->segment);
    weir_loop_free(fixture->loop);
    free(fixture);
    return 0;
}

/* The loan as it would arrive: bytes of its own. */
struct sent {
    uint8_t bytes[WEIR_LOAN_BYTES];
};

static struct sent lend(struct weir_segment *segment)
{
    struct weir_bytes loan = weir_segment_lend(segment);
    struct sent sent;
    assert_int_equal(loan.size, sizeof(sent.bytes));
    memcpy(sent.bytes, loan.at, sizeof(sent.bytes));
    return sent;
}

static bool claim(struct fixture *fixture, const struct sent *sent, struct weir_loan *ret_loan)
{
    return weir_loan_claim(fixture->borrowed, weir_bytes(sent->bytes, sizeof(sent->bytes)),
                           ret_loan);
}

/* Segments of others that this process has mapped: it watches the owner of each. */
static size_t mapped_count(void)
{
    static const char PROCESS[] = "anon_inode:[pidfd]";
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char target[sizeof(PROCESS)];
        ssize_t size = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));
        count += size == sizeof(PROCESS) - 1 && memcmp(target, PROCESS, sizeof(PROCESS) - 1) == 0;
    }
    closedir(dir);
    return count;
}

static void write_text(struct weir_loan *loan, const char *text)
{
    memcpy(loan->at, text, strlen(text));
    weir_loan_end(loan, true);
}

static void expect_written(const struct fixture *fixture, const char *text)
{
    assert_true(weir_bytes_equal(weir_segment_written(fixture->segment, strlen(text)),
                                 weir_bytes_of(text)));
}

/* ---- lending ---- */

static void what_was_written_under_a_loan_is_read_by_its_owner(void **state)
{
    struct fixture *fixture = *state;
    struct weir_loan loan;
    const char *texts[] = {"first", "second, longer", "3"};
    for (size_t i = 0; i < WEIR_COUNT(texts); i++) {
        struct sent sent = lend(fixture->segment);
        assert_true(claim(fixture, &sent, &loan));
        assert_int_equal(loan.size, SIZE);
        assert_int_equal((uintptr_t)loan.at % 64, 0);
        assert_int_equal(weir_segment_written(fixture->segment, 1).size, 0);
        write_text(&loan, texts[i]);
        expect_written(fixture, texts[i]);
    }
    assert_int_equal(mapped_count(), 1); /* it was mapped once */
    assert_int_equal(weir_segment_written(fixture->segment, SIZE).size, SIZE);
    assert_int_equal(weir_segment_written(fixture->segment, SIZE + 1).size, 0);
}

static void a_request_that_comes_twice_is_written_once(void **state)
{
    struct fixture *fixture = *state;
    struct sent sent = lend(fixture->segment);
    struct weir_loan loan, again;
    assert_true(claim(fixture, &sent, &loan));
    assert_false(claim(fixture, &sent, &again)); /* while it is written */
    write_text(&loan, "once");
    assert_false(claim(fixture, &sent, &again)); /* while it is read */
    expect_written(fixture, "once");
}

static void a_late_request_does_not_touch_what_was_lent_anew(void **state)
{
    struct fixture *fixture = *state;
    struct sent late = lend(fixture->segment), sent = lend(fixture->segment);
    struct weir_loan loan;
    assert_false(claim(fixture, &late, &loan));
    assert_true(claim(fixture, &sent, &loan));
    assert_false(claim(fixture, &late, &loan));
    write_text(&loan, "new");
    assert_false(claim(fixture, &late, &loan));
    expect_written(fixture, "new");
}

static void memory_that_is_being_written_is_never_lent_again(void **state)
{
    struct fixture *fixture = *state;
    struct sent sent = lend(fixture->segment);
    struct weir_loan slow, loan;
    assert_true(claim(fixture, &sent, &slow)); /* and its asker gives up */
    sent = lend(fixture->segment);
    memcpy(slow.at, "late", 4);
    assert_true(claim(fixture, &sent, &loan));
    write_text(&loan, "mine");
    expect_written(fixture, "mine");
}

static void a_loan_that_was_not_used_can_be_claimed_once_more(void **state)
{
    struct fixture *fixture = *state;
    struct sent sent = lend(fixture->segment);
    struct weir_loan loan;
    assert_true(claim(fixture, &sent, &loan));
    weir_loan_end(&loan, false);
    assert_null(loan.at);
    assert_int_equal(weir_segment_written(fixture->segment, 1).size, 0);
    assert_true(claim(fixture, &sent, &loan));
    write_text(&loan, "now");
    expect_written(fixture, "now");
}

/* ---- bounds ---- */

static void no_more_segments_are_mapped_than_are_allowed(void **state)
{
    struct fixture *fixture = *state;
    struct weir_segment *segments[WEIR_BORROWED_MAX + 10];
    for (size_t i = 0; i < WEIR_COUNT(segments); i++) {
        segments[i] = weir_segment_new(100);
        for (int round = 0; round < 2; round++) {
            struct sent sent = lend(segments[i]);
            struct weir_loan loan;
            assert_true(claim(fixture, &sent, &loan));
            weir_loan_end(&loan, true);
        }
    }
    assert_int_equal(mapped_count(), WEIR_BORROWED_MAX);
    for (size_t i = 0; i < WEIR_COUNT(segments); i++)
        weir_segment_free(segments[i]);
}

/* Lends a segment, tells the loan, and waits to be killed. */
static pid_t start_owner(struct sent *ret_sent)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t owner = fork();
    assert_true(owner >= 0);
    if (owner == 0) {
        struct weir_segment *segment = weir_segment_new(SIZE);
        struct weir_bytes loan = weir_segment_lend(segment);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(ends[1], loan.at, loan.size) == WEIR_LOAN_BYTES)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], ret_sent->bytes, sizeof(ret_sent->bytes)), WEIR_LOAN_BYTES);
    close(ends[0]);
    close(ends[1]);
    return owner;
}

/* Its memory would keep what an erasure takes from the owner's. */
static void a_forked_child_has_none_of_it(void **state)
{
    struct fixture *fixture = *state;
    struct weir_loan loan;
    struct sent sent = lend(fixture->segment);
    int status;

    assert_true(claim(fixture, &sent, &loan));
    write_text(&loan, "of a person");
    uintptr_t address = (uintptr_t)weir_segment_written(fixture->segment, 1).at;
    void *page = (void *)(address - address % (uintptr_t)sysconf(_SC_PAGESIZE));
    unsigned char is_resident;
    assert_int_equal(mincore(page, 1, &is_resident), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(mincore(page, 1, &is_resident) == -1 && errno == ENOMEM ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_written(fixture, "of a person");
}

static void nothing_is_kept_of_an_owner_that_died(void **state)
{
    struct fixture *fixture = *state;
    struct sent sent;
    struct weir_loan loan;
    pid_t owner = start_owner(&sent);
    int status;
    assert_true(claim(fixture, &sent, &loan));
    write_text(&loan, "for nobody");
    assert_int_equal(mapped_count(), 1);
    kill(owner, SIGKILL);
    assert_int_equal(waitpid(owner, &status, 0), owner);
    while (mapped_count() > 0)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    assert_false(claim(fixture, &sent, &loan));
}

/* ---- what a peer may claim to lend ---- */

/* Memory with a right head, made as told. */
static int make_memory(int seals, off_t size)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct weir_segment_head head = {.word = weir_segment_word(1, WEIR_SEGMENT_LENT)};
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static struct sent describe(int fd, uint64_t size)
{
    struct sent sent = {{0}}; /* a key of zeros, like that of the memory */
    weir_put_u32(sent.bytes + WEIR_LOAN_PROCESS, (uint32_t)getpid());
    weir_put_u32(sent.bytes + WEIR_LOAN_DESCRIPTOR, (uint32_t)fd);
    weir_put_u64(sent.bytes + WEIR_LOAN_SIZE, size);
    weir_put_u64(sent.bytes + WEIR_LOAN_TICKET, 1);
    return sent;
}

static void only_memory_that_cannot_shrink_is_believed(void **state)
{
    enum { ALL = WEIR_SEGMENT_SEALS, HEAD = WEIR_SEGMENT_HEAD_BYTES };
    static const struct {
        const char *what;
        int seals;
        off_t size;
        uint64_t said;
        bool is_good;
    } CASES[] = {
        {"as it should be", ALL, HEAD + SIZE, SIZE, true},
        {"not sealed", F_SEAL_SEAL, HEAD + SIZE, SIZE, false},
        {"may shrink", F_SEAL_SEAL | F_SEAL_GROW, HEAD + SIZE, SIZE, false},
        {"may be sealed on", F_SEAL_GROW | F_SEAL_SHRINK, HEAD + SIZE, SIZE, false},
        {"not to be written", ALL | F_SEAL_WRITE, HEAD + SIZE, SIZE, false},
        {"shorter than said", ALL, HEAD + SIZE - 1, SIZE, false},
        {"without a whole head", ALL, 100, 0, false},
        {"larger than is allowed", ALL, HEAD + (off_t)WEIR_SEGMENT_BYTES_MAX + 1,
         WEIR_SEGMENT_BYTES_MAX + 1, false},
        {"a size that wraps round", ALL, HEAD - 8, UINT64_MAX - 7, false},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        int fd = make_memory(CASES[i].seals, CASES[i].size);
        struct sent sent = describe(fd, CASES[i].said);
        struct weir_loan loan;
        print_message("%s\n", CASES[i].what);
        assert_int_equal(claim(fixture, &sent, &loan), CASES[i].is_good);
        close(fd);
    }
}

static void what_is_not_that_memory_is_not_opened(void **state)
{
    struct fixture *fixture = *state;
    struct sent sent = lend(fixture->segment), other;
    struct weir_loan loan;
    struct temp_dir dir;
    int fd, ends[2];
    other = sent;
    other.bytes[WEIR_LOAN_KEY] ^= 1;
    assert_false(claim(fixture, &other, &loan));
    other = sent;
    weir_put_u32(other.bytes + WEIR_LOAN_PROCESS, 1u << 30); /* nobody */
    assert_false(claim(fixture, &other, &loan));
    assert_false(weir_loan_claim(fixture->borrowed, weir_bytes(sent.bytes, 39), &loan));
    assert_false(weir_loan_claim(fixture->borrowed, weir_bytes(NULL, 0), &loan));
    temp_dir_make(&dir);
    fd = open(temp_path(&dir, "file"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, WEIR_SEGMENT_HEAD_BYTES + SIZE), 0);
    other = describe(fd, SIZE);
    assert_false(claim(fixture, &other, &loan)); /* a file of somebody */
    close(fd);
    temp_dir_remove(&dir);
    assert_int_equal(pipe(ends), 0);
    other = describe(ends[0], SIZE);
    assert_false(claim(fixture, &other, &loan));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(mapped_count(), 0);
    assert_true(claim(fixture, &sent, &loan)); /* none of this has ended the loan */
    weir_loan_end(&loan, false);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_written_under_a_loan_is_read_by_its_owner),
        CASE(a_request_that_comes_twice_is_written_once),
        CASE(a_late_request_does_not_touch_what_was_lent_anew),
        CASE(memory_that_is_being_written_is_never_lent_again),
        CASE(a_loan_that_was_not_used_can_be_claimed_once_more),
        CASE(no_more_segments_are_mapped_than_are_allowed),
        CASE(a_forked_child_has_none_of_it),
        CASE(nothing_is_kept_of_an_owner_that_died),
        CASE(only_memory_that_cannot_shrink_is_believed),
        CASE(what_is_not_that_memory_is_not_opened),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
