/* Memory that is made once for several: each reader has it as its own, and nobody can change what the others see. */
#include "core/rpc/published.h"

#include "core/base/memory.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 10000, READER = 7, OTHER = 8, SUBJECT = 9 };

struct fixture {
    struct temp_dir dir;
    char *address;
    struct weir_loop *loop;
    struct weir_ways *ways;
};

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    temp_dir_make(&fixture->dir);
    fixture->address = weir_format("ipc://%s/maker.sock", fixture->dir.path);
    fixture->loop = weir_loop_new();
    fixture->ways = weir_ways_new(fixture->loop, fixture->address);
    assert_non_null(fixture->ways);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    weir_ways_free(fixture->ways);
    weir_loop_free(fixture->loop);
    temp_dir_remove(&fixture->dir);
    free(fixture->address);
    free(fixture);
    return 0;
}

static struct weir_published *make(uint8_t value)
{
    struct weir_published *published = weir_published_new(SIZE);
    assert_non_null(published);
    memset(published->at, value, SIZE);
    assert_true(weir_published_seal(published));
    return published;
}

/* Connects, and lets the maker hear who it is. */
static int open_way(struct fixture *fixture, uint64_t reader)
{
    int way = weir_way_open(fixture->address, reader);
    assert_true(way >= 0);
    for (int i = 0; i < 3; i++)
        weir_loop_step(fixture->loop, 1);
    return way;
}

static void assert_all(const uint8_t *at, uint8_t value)
{
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(at[i], value);
}

static void each_reader_has_it_as_its_own(void **state)
{
    struct fixture *fixture = *state;
    int one = open_way(fixture, READER), other = open_way(fixture, OTHER);
    struct weir_published *published = make(42);
    uint64_t key = published->key;
    assert_true(weir_ways_send(fixture->ways, READER, published));
    assert_true(weir_ways_send(fixture->ways, OTHER, published));
    uint8_t *mine = weir_way_take(one, key, SIZE), *theirs = weir_way_take(other, key, SIZE);
    assert_all(mine, 42);
    memset(mine, 1, SIZE);
    assert_all(theirs, 42);
    assert_all(published->at, 42);
    weir_published_free(published); /* the maker is done, or dead */
    assert_all(theirs, 42);
    weir_published_unmap(mine, SIZE);
    assert_all(theirs, 42);
    weir_published_unmap(theirs, SIZE);
    close(one);
    close(other);
}

static void readers_who_have_just_come_are_sent_it_at_once(void **state)
{
    enum { READERS = 16 };
    struct fixture *fixture = *state;
    struct weir_published *published = make(42);
    int way[READERS];

    for (size_t i = 0; i < READERS; i++) {
        way[i] = weir_way_open(fixture->address, i + 1);
        assert_true(way[i] >= 0);
    }
    for (size_t i = 0; i < READERS; i++) {
        assert_true(weir_ways_send(fixture->ways, i + 1, published));
        uint8_t *at = weir_way_take(way[i], published->key, SIZE);
        assert_all(at, 42);
        weir_published_unmap(at, SIZE);
        close(way[i]);
    }
    weir_published_free(published);
}

static void nobody_can_change_it_once_it_is_sealed(void **state)
{
    (void)state;
    struct weir_published *published = make(42);
    assert_true(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, published->fd, 0) ==
                MAP_FAILED);
    assert_int_equal(ftruncate(published->fd, 0), -1);
    assert_int_equal(pwrite(published->fd, "x", 1, 0), -1);
    struct weir_published *again = weir_published_share(published);
    weir_published_free(published);
    assert_all(again->at, 42);
    weir_published_free(again);
}

static void what_came_before_is_given_up(void **state)
{
    struct fixture *fixture = *state;
    int way = open_way(fixture, READER);
    struct weir_published *lost = make(1), *wanted = make(2), *later = make(3);
    assert_true(weir_ways_send(fixture->ways, READER, lost));
    assert_true(weir_ways_send(fixture->ways, READER, wanted));
    assert_true(weir_ways_send(fixture->ways, READER, later));
    uint8_t *at = weir_way_take(way, wanted->key, SIZE);
    assert_all(at, 2);
    weir_published_unmap(at, SIZE);
    assert_null(weir_way_take(way, lost->key, SIZE)); /* looked through all that came */
    assert_null(weir_way_take(way, later->key, SIZE));
    weir_published_free(lost);
    weir_published_free(wanted);
    weir_published_free(later);
    close(way);
}

static struct weir_published *make_in(struct weir_published_pool *pool, uint8_t value)
{
    struct weir_published *published = weir_published_pool_take(pool, SUBJECT, SIZE);
    assert_non_null(published);
    memset(published->at, value, SIZE);
    assert_true(weir_published_seal(published));
    return published;
}

/* Makes a value in the pool, sends it to a reader, and keeps no reference; returns where it was made. */
static const uint8_t *send_value(struct fixture *fixture, struct weir_published_pool *pool,
                                 uint8_t value, uint64_t *ret_key)
{
    struct weir_published *published = make_in(pool, value);
    const uint8_t *at = published->at;
    *ret_key = published->key;
    assert_true(weir_ways_send(fixture->ways, READER, published));
    weir_published_free(published);
    return at;
}

static void memory_is_used_again_once_no_reader_has_it(void **state)
{
    struct fixture *fixture = *state;
    struct weir_published_pool pool = {.idle_bytes_max = SIZE};
    int way = open_way(fixture, READER);
    uint64_t first, second, third;
    const uint8_t *at = send_value(fixture, &pool, 1, &first);
    const uint8_t *other = send_value(fixture, &pool, 2, &second);
    assert_ptr_not_equal(other, at); /* the first is on its way */
    uint8_t *mine = weir_way_take(way, first, SIZE);
    assert_ptr_not_equal(send_value(fixture, &pool, 3, &third), at); /* and now it is mapped */
    assert_all(mine, 1);
    weir_published_unmap(mine, SIZE);
    struct weir_published *again = make_in(&pool, 4);
    assert_ptr_equal(again->at, at);
    assert_true(again->key != first);
    assert_int_equal(pwrite(again->fd, "x", 1, 0), -1);
    struct weir_published *fifth = make_in(&pool, 5);
    assert_ptr_not_equal(fifth->at, at); /* its maker has it */
    weir_published_free(fifth);
    weir_published_free(again);
    uint8_t *theirs = weir_way_take(way, second, SIZE);
    assert_all(theirs, 2);
    weir_published_unmap(theirs, SIZE);
    weir_published_pool_clear(&pool);
    close(way);
}

static void a_reader_that_dies_holds_no_memory(void **state)
{
    struct fixture *fixture = *state;
    struct weir_published_pool pool = {.idle_bytes_max = SIZE};
    int way = open_way(fixture, READER);
    uint64_t key;
    const uint8_t *at = send_value(fixture, &pool, 1, &key);
    pid_t child = fork();
    if (child == 0)
        _exit(weir_way_take(way, key, SIZE) == NULL);
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    struct weir_published *again = make_in(&pool, 2);
    assert_ptr_equal(again->at, at);
    weir_published_free(again);
    weir_published_pool_clear(&pool);
    close(way);
}

static void memory_that_is_given_up_is_not_used_again(void **state)
{
    (void)state;
    struct weir_published_pool pool = {.idle_bytes_max = SIZE};
    struct weir_published *kept = make_in(&pool, 1);
    weir_published_pool_trim(&pool);
    assert_int_equal(pool.count, 1); /* it was taken since the last time */
    weir_published_pool_trim(&pool);
    assert_int_equal(pool.count, 0);
    assert_all(kept->at, 1); /* who has it keeps it */
    weir_published_free(kept);
    weir_published_free(make_in(&pool, 3));
    weir_published_pool_clear(&pool);
    assert_int_equal(pool.count, 0);
    struct weir_published *fresh = weir_published_pool_take(&pool, SUBJECT, SIZE);
    assert_all(fresh->at, 0);
    weir_published_free(fresh);
    weir_published_pool_clear(&pool);
}

/* Makes a piece of memory of each value, and then has none of them. */
static void make_at_once(struct weir_published_pool *pool, const uint8_t **ret_at, size_t count)
{
    struct weir_published *published[3];

    for (size_t i = 0; i < count; i++) {
        published[i] = make_in(pool, (uint8_t)i);
        ret_at[i] = published[i]->at;
    }
    for (size_t i = 0; i < count; i++)
        weir_published_free(published[i]);
}

static void all_memory_in_use_comes_back_and_idle_memory_is_limited(void **state)
{
    (void)state;
    struct weir_published_pool pool = {.idle_bytes_max = SIZE};
    const uint8_t *first[3], *again[3];

    make_at_once(&pool, first, 3);
    make_at_once(&pool, again, 3);
    assert_memory_equal(again, first, sizeof(first));
    weir_published_free(weir_published_pool_take(&pool, SUBJECT + 1, SIZE));
    assert_int_equal(pool.count, 2); /* the new one, and one of those that nobody had */
    weir_published_pool_clear(&pool);
}

static void memory_is_used_again_for_its_own_subject_alone(void **state)
{
    (void)state;
    struct weir_published_pool pool = {.idle_bytes_max = 2 * SIZE};
    struct weir_published *first = make_in(&pool, 1);
    const uint8_t *at = first->at;
    weir_published_free(first); /* the pool still has it */
    struct weir_published *theirs = weir_published_pool_take(&pool, SUBJECT + 1, SIZE);
    assert_non_null(theirs);
    assert_ptr_not_equal(theirs->at, at);
    assert_all(theirs->at, 0);
    struct weir_published *again = make_in(&pool, 2);
    assert_ptr_equal(again->at, at);
    weir_published_free(again);
    weir_published_free(theirs);
    weir_published_pool_clear(&pool);
}

static int open_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, SIZE) == 0);
    return fd;
}

static void what_could_change_or_is_too_small_is_not_mapped(void **state)
{
    struct fixture *fixture = *state;
    int way = open_way(fixture, READER);
    struct weir_published *unsealed = weir_published_new(SIZE), *small = make(1), *file = make(2);
    WEIR_AUTO_FREE char *path = weir_format("%s/file", fixture->dir.path);
    close(file->fd);
    file->fd = open_file(path);
    assert_true(weir_ways_send(fixture->ways, READER, unsealed));
    assert_null(weir_way_take(way, unsealed->key, SIZE));
    assert_true(weir_ways_send(fixture->ways, READER, small));
    assert_null(weir_way_take(way, small->key, SIZE + 1));
    assert_true(weir_ways_send(fixture->ways, READER, file));
    assert_null(weir_way_take(way, file->key, SIZE));
    weir_published_free(unsealed);
    weir_published_free(small);
    weir_published_free(file);
    close(way);
}

static void who_has_not_said_who_he_is_or_says_it_twice_gets_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct weir_published *published = make(42);
    int nobody = open_way(fixture, 0), twice = open_way(fixture, READER);
    uint64_t other = OTHER;
    assert_false(weir_ways_send(fixture->ways, OTHER, published));
    assert_false(weir_ways_send(fixture->ways, 0, published));
    assert_true(weir_ways_send(fixture->ways, READER, published));
    assert_int_equal(send(twice, &other, sizeof(other), 0), sizeof(other));
    weir_loop_step(fixture->loop, 1);
    assert_false(weir_ways_send(fixture->ways, READER, published));
    assert_false(weir_ways_send(fixture->ways, OTHER, published));
    assert_false(weir_way_is_open(nobody));
    weir_published_free(published);
    close(nobody);
    close(twice);
}

static void a_way_that_nobody_takes_from_is_full_and_harms_nobody(void **state)
{
    enum { MORE_THAN_FIT = 4096 };
    struct fixture *fixture = *state;
    int slow = open_way(fixture, READER), other = open_way(fixture, OTHER);
    struct weir_published *published = make(42);
    int sent = 0;
    while (sent < MORE_THAN_FIT && weir_ways_send(fixture->ways, READER, published))
        sent++;
    assert_true(sent < MORE_THAN_FIT);
    assert_true(weir_ways_send(fixture->ways, OTHER, published));
    close(slow);
    weir_loop_step(fixture->loop, 1);
    assert_false(weir_ways_send(fixture->ways, READER, published));
    weir_ways_free(fixture->ways);
    fixture->ways = NULL;
    uint8_t *at = weir_way_take(other, published->key, SIZE);
    assert_all(at, 42); /* it was sent before its maker left */
    assert_false(weir_way_is_open(other));
    weir_published_unmap(at, SIZE);
    weir_published_free(published);
    close(other);
}

static void over_tcp_there_is_no_way(void **state)
{
    struct fixture *fixture = *state;
    assert_null(weir_ways_new(fixture->loop, "tcp://127.0.0.1:1"));
    assert_int_equal(weir_way_open("tcp://127.0.0.1:1", READER), -1);
    assert_int_equal(weir_way_open("ipc:///nowhere/at/all.sock", READER), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_reader_has_it_as_its_own, begin, end),
        cmocka_unit_test_setup_teardown(readers_who_have_just_come_are_sent_it_at_once, begin, end),
        cmocka_unit_test(nobody_can_change_it_once_it_is_sealed),
        cmocka_unit_test_setup_teardown(what_came_before_is_given_up, begin, end),
        cmocka_unit_test_setup_teardown(memory_is_used_again_once_no_reader_has_it, begin, end),
        cmocka_unit_test_setup_teardown(a_reader_that_dies_holds_no_memory, begin, end),
        cmocka_unit_test(memory_that_is_given_up_is_not_used_again),
        cmocka_unit_test(all_memory_in_use_comes_back_and_idle_memory_is_limited),
        cmocka_unit_test(memory_is_used_again_for_its_own_subject_alone),
        cmocka_unit_test_setup_teardown(what_could_change_or_is_too_small_is_not_mapped, begin,
                                        end),
        cmocka_unit_test_setup_teardown(who_has_not_said_who_he_is_or_says_it_twice_gets_nothing,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_way_that_nobody_takes_from_is_full_and_harms_nobody,
                                        begin, end),
        cmocka_unit_test_setup_teardown(over_tcp_there_is_no_way, begin, end),
    };
    return cmocka_run_group_tests_name("published", tests, NULL, NULL);
}
