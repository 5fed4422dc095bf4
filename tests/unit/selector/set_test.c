/* Sets of ids against plain arrays of truth values: random shapes over a handful of blocks. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "selector/sets/set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 5, IDS = BLOCKS * WEIR_BLOCK_ROWS, ROUNDS = 30, LOOKS = 200 };

static const uint64_t BASE = UINT64_C(3) << 44;

/* Empty blocks, whole ones, ranges and scattered rows. */
static void draw_truth(struct weir_rng *rng, uint8_t *truth)
{
    memset(truth, 0, IDS);
    for (size_t block = 0; block < BLOCKS; block++) {
        uint8_t *rows = truth + block * WEIR_BLOCK_ROWS;
        uint64_t shape = weir_rng_below(rng, 4);
        uint64_t from = weir_rng_below(rng, WEIR_BLOCK_ROWS);
        uint64_t every = 1 + weir_rng_below(rng, 300);
        if (shape == 1)
            memset(rows, 1, WEIR_BLOCK_ROWS);
        if (shape == 2)
            memset(rows + from, 1, 1 + weir_rng_below(rng, WEIR_BLOCK_ROWS - from));
        for (uint64_t row = from; shape == 3 && row < WEIR_BLOCK_ROWS; row += every)
            rows[row] = 1;
    }
}

static struct selector_set set_of(const uint8_t *truth)
{
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(IDS, sizeof(*ids));
    struct selector_set set;
    size_t count = 0;
    for (size_t i = 0; i < IDS; i++)
        if (truth[i])
            ids[count++] = BASE + i;
    selector_set_of_ids(&set, ids, count);
    assert_int_equal(set.count, count);
    return set;
}

/* Its size in memory. */
static size_t bytes_of(const struct selector_set *set)
{
    size_t bytes = set->capacity * sizeof(*set->blocks);
    for (size_t i = 0; i < set->block_count; i++)
        bytes += set->blocks[i].words != NULL ? SELECTOR_MASK_WORDS * sizeof(uint64_t) : 0;
    return bytes;
}

static void check_equal(const struct selector_set *set, const uint8_t *truth)
{
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(WEIR_BLOCK_ROWS, sizeof(*ids));
    uint64_t rank = 0;
    size_t next = 0;
    for (size_t block = 0; block < set->block_count; block++) {
        size_t count = selector_set_ids(set, block, ids);
        assert_int_equal(set->blocks[block].before, rank);
        assert_int_equal(set->blocks[block].count, count);
        for (size_t i = 0; i < count; i++, next++, rank++) {
            while (next < IDS && !truth[next])
                next++;
            assert_true(ids[i] == BASE + next);
        }
    }
    for (; next < IDS; next++)
        assert_false(truth[next]);
    assert_int_equal(set->count, rank);
    assert_true(bytes_of(set) <= set->capacity * 40 + BLOCKS * WEIR_BLOCK_ROWS / 8);
}

static void members_are_found(void **state)
{
    (void)state;
    static uint8_t truth[IDS];
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    for (size_t round = 0; round < ROUNDS; round++) {
        draw_truth(&rng, truth);
        struct selector_set set = set_of(truth);
        check_equal(&set, truth);
        for (size_t look = 0; look < LOOKS; look++) {
            uint64_t i = weir_rng_below(&rng, IDS);
            assert_int_equal(selector_set_has(&set, BASE + i), truth[i]);
        }
        assert_false(selector_set_has(&set, BASE - 1));
        selector_set_fini(&set);
    }
}

static void operations_are_those_of_sets(void **state)
{
    (void)state;
    static uint8_t a[IDS], b[IDS], expected[IDS];
    struct weir_rng rng;
    weir_rng_init(&rng, 2);
    for (size_t round = 0; round < ROUNDS; round++) {
        enum selector_set_operation operation = (enum selector_set_operation)(round % 3);
        draw_truth(&rng, a);
        draw_truth(&rng, b);
        for (size_t i = 0; i < IDS; i++)
            expected[i] = operation == SELECTOR_UNION        ? a[i] | b[i]
                          : operation == SELECTOR_DIFFERENCE ? a[i] & !b[i]
                                                             : a[i] & b[i];
        struct selector_set left = set_of(a), right = set_of(b);
        selector_set_combine(&left, operation, &right);
        check_equal(&left, expected);
        selector_set_fini(&left);
        selector_set_fini(&right);
    }
}

static void members_are_picked_by_rank(void **state)
{
    (void)state;
    static uint8_t truth[IDS], expected[IDS];
    static uint64_t ranks[IDS / 64];
    struct weir_rng rng;
    weir_rng_init(&rng, 3);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct selector_set picked;
        draw_truth(&rng, truth);
        memset(expected, 0, IDS);
        memset(ranks, 0, sizeof(ranks));
        for (size_t i = 0, rank = 0; i < IDS; i++) {
            if (!truth[i])
                continue;
            expected[i] = round == 0 || weir_rng_below(&rng, 2) == 0;
            ranks[rank / 64] |= (uint64_t)expected[i] << (rank % 64);
            rank++;
        }
        struct selector_set set = set_of(truth);
        selector_set_pick(&set, ranks, &picked);
        check_equal(&picked, expected);
        selector_set_fini(&picked);
        selector_set_fini(&set);
    }
}

static void whole_blocks_take_no_bitmaps(void **state)
{
    (void)state;
    struct selector_set set = {0};
    uint64_t mask[SELECTOR_MASK_WORDS];
    memset(mask, 0xff, sizeof(mask));
    for (uint64_t block = 0; block < 1600; block++) /* a hundred million samples */
        selector_set_append(&set, BASE + block * WEIR_BLOCK_ROWS, mask);
    assert_int_equal(set.count, 1600 * (uint64_t)WEIR_BLOCK_ROWS);
    assert_true(bytes_of(&set) < 100000);
    selector_set_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(operations_are_those_of_sets),
        cmocka_unit_test(members_are_picked_by_rank),
        cmocka_unit_test(whole_blocks_take_no_bitmaps),
    };
    return cmocka_run_group_tests_name("selector/set", tests, NULL, NULL);
}
