/* Compression on the way from storage: where the link is slower than the compressor, tried and not presumed. */
#include "preprocess/worker/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PAYLOAD = 1 << 20, ANSWERS = 200 };

/* A way, and what is sent over it. */
struct way {
    double wire_ns, pack_ns; /* per byte */
    double ratio;
};

/* Sends a payload as the link says; true when it was compressed. */
static bool send(struct link *link, const struct way *way)
{
    bool is_packed = preprocess_link_choose(link) == WEIR_COMPRESSION_LZ4;
    uint64_t wire = (uint64_t)(PAYLOAD * (is_packed ? way->ratio : 1));
    int64_t compress_ns = is_packed ? (int64_t)(way->pack_ns * PAYLOAD) : 0;
    const struct link_answer answer = {
        .asked_ns = link->heard_ns,
        .now_ns = link->heard_ns + compress_ns + (int64_t)((double)wire * way->wire_ns),
        .spent_ns = compress_ns,
        .compress_ns = compress_ns,
        .payload = PAYLOAD,
        .wire = wire,
    };
    preprocess_link_heard(link, &answer);
    return is_packed;
}

static int packed_of_many(const struct way *way, bool leaves_host)
{
    struct link link = {.leaves_host = leaves_host};
    int packed = 0;
    for (int i = 0; i < ANSWERS; i++)
        packed += send(&link, way);
    return packed;
}

static void a_slow_link_is_sent_compressed_bytes(void **state)
{
    (void)state;
    const struct way slow = {.wire_ns = 8, .pack_ns = 2, .ratio = 0.5};
    assert_in_range(packed_of_many(&slow, true), ANSWERS - 2 - ANSWERS / LINK_TRIAL_ANSWERS,
                    ANSWERS - 2);
}

static void a_fast_link_is_not(void **state)
{
    (void)state;
    const struct way fast = {.wire_ns = 0.1, .pack_ns = 2, .ratio = 0.5};
    assert_in_range(packed_of_many(&fast, true), 2, 1 + ANSWERS / LINK_TRIAL_ANSWERS);
}

static void bytes_that_do_not_become_fewer_are_not(void **state)
{
    (void)state;
    const struct way noise = {.wire_ns = 8, .pack_ns = 1, .ratio = 1};
    assert_in_range(packed_of_many(&noise, true), 2, 1 + ANSWERS / LINK_TRIAL_ANSWERS);
}

static void nothing_is_compressed_within_the_host(void **state)
{
    (void)state;
    const struct way slow = {.wire_ns = 8, .pack_ns = 2, .ratio = 0.5};
    assert_int_equal(packed_of_many(&slow, false), 0);
}

static void a_link_that_becomes_slow_is_noticed(void **state)
{
    (void)state;
    struct way way = {.wire_ns = 0.1, .pack_ns = 2, .ratio = 0.5};
    struct link link = {.leaves_host = true};
    for (int i = 0; i < ANSWERS; i++)
        (void)send(&link, &way);
    way.wire_ns = 8;
    int packed = 0;
    for (int i = 0; i < ANSWERS; i++)
        packed += send(&link, &way);
    assert_true(packed > ANSWERS * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_link_is_sent_compressed_bytes),
        cmocka_unit_test(a_fast_link_is_not),
        cmocka_unit_test(bytes_that_do_not_become_fewer_are_not),
        cmocka_unit_test(nothing_is_compressed_within_the_host),
        cmocka_unit_test(a_link_that_becomes_slow_is_noticed),
    };
    return cmocka_run_group_tests_name("worker: link", tests, NULL, NULL);
}
