/* The digest of a batch: pinned, for it is compared across builds and hosts; and everything in a batch is in it. The
 * expected values were computed by the Python of docs/reference/batch-digest.md. */
#include "trainer_client/digest.h"

#include "core/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two samples, two holes, a dense f32 (2, 3) and a ragged i32 of 1 + 2 values. */
struct example {
    uint64_t ids[2], hole_ids[2];
    int64_t labels[2];
    float weights[2], dense[6], values[2];
    uint32_t hole_kinds[2], offsets[3];
    int32_t tokens[3];
    char name[8];
    struct weir_tensor tensors[2];
    struct weir_batch batch;
};

static void make_example(struct example *example)
{
    *example = (struct example){
        .ids = {11, 12},
        .hole_ids = {14, 13},
        .labels = {0, -1},
        .weights = {0.5f, 2.0f},
        .dense = {1, 2, 3, 4, 5, 6},
        .hole_kinds = {WEIR_HOLE_GONE, WEIR_HOLE_FILTERED},
        .offsets = {0, 1, 3},
        .tokens = {7, 8, 9},
        .name = "dense",
    };
    example->tensors[0] = (struct weir_tensor){.name = example->name,
                                               .type = WEIR_TENSOR_F32,
                                               .rank = 2,
                                               .shape = {2, 3},
                                               .data = example->dense,
                                               .bytes = sizeof(example->dense)};
    example->tensors[1] = (struct weir_tensor){.name = "ragged",
                                               .type = WEIR_TENSOR_I32,
                                               .rank = 1,
                                               .shape = {2},
                                               .offsets = example->offsets,
                                               .data = example->tokens,
                                               .bytes = sizeof(example->tokens)};
    example->batch = (struct weir_batch){.number = 4,
                                         .epoch = 1,
                                         .samples = 2,
                                         .holes = 2,
                                         .ids = example->ids,
                                         .labels = example->labels,
                                         .label_type = WEIR_LABELS_INT,
                                         .weights = example->weights,
                                         .tensor_count = 2,
                                         .tensors = example->tensors,
                                         .global_samples = 2,
                                         .global_weight = 2.5,
                                         .hole_ids = example->hole_ids,
                                         .hole_kinds = example->hole_kinds};
}

static void assert_digest(const struct weir_batch *batch, const char *expected)
{
    char text[WEIR_DIGEST_TEXT_MAX];
    struct weir_digest digest = trainer_digest_of(batch);

    weir_digest_text(&digest, text);
    assert_string_equal(text, expected);
}

static void digests_are_those_of_the_page(void **state)
{
    (void)state;
    static const struct weir_batch EMPTY = {.number = 0};
    struct example example;
    make_example(&example);
    assert_digest(&example.batch, "fbe071f4e757ed5e19d78b5a0813f60d");
    example.batch.label_type = WEIR_LABELS_VALUES;
    example.batch.label_width = 1;
    example.batch.label_values = example.values;
    example.labels[1] = 0;
    example.values[1] = 3;
    assert_digest(&example.batch, "eded97098212243cfe87361e0dc589a2");
    assert_digest(&EMPTY, "20b970c526d1ae23eaf89db3bdf999e8");
}

static void the_order_of_holes_is_not_in_it(void **state)
{
    (void)state;
    struct example example, turned;
    make_example(&example);
    make_example(&turned);
    turned.hole_ids[0] = 13;
    turned.hole_ids[1] = 14;
    turned.hole_kinds[0] = WEIR_HOLE_FILTERED;
    turned.hole_kinds[1] = WEIR_HOLE_GONE;
    struct weir_digest one = trainer_digest_of(&example.batch);
    struct weir_digest other = trainer_digest_of(&turned.batch);
    assert_memory_equal(&one, &other, sizeof(one));
}

static void totals_over_ranks_are_not_in_it(void **state)
{
    (void)state;
    struct example example;
    make_example(&example);
    struct weir_digest one = trainer_digest_of(&example.batch);
    example.batch.global_samples = 99;
    example.batch.global_weight = 1;
    struct weir_digest other = trainer_digest_of(&example.batch);
    assert_memory_equal(&one, &other, sizeof(one));
}

static void everything_else_is_in_it(void **state)
{
    (void)state;
#define PART(member)                                                               \
    {                                                                              \
        offsetof(struct example, member), sizeof(((struct example *)NULL)->member) \
    }
    static const struct {
        size_t at, size;
    } PARTS[] = {
        PART(ids),
        PART(hole_ids),
        PART(labels),
        PART(weights),
        PART(dense),
        PART(hole_kinds),
        PART(offsets),
        PART(tokens),
        PART(name[0]),
        PART(batch.number),
        PART(batch.epoch),
        PART(batch.label_type),
        PART(tensors[0].type),
        PART(tensors[0].shape[1]),
    };
#undef PART
    struct example example;
    make_example(&example);
    struct weir_digest plain = trainer_digest_of(&example.batch);
    for (size_t i = 0; i < WEIR_COUNT(PARTS); i++) {
        for (size_t byte = 0; byte < PARTS[i].size; byte++) {
            make_example(&example);
            ((uint8_t *)&example)[PARTS[i].at + byte] ^= 0x01;
            struct weir_digest other = trainer_digest_of(&example.batch);
            assert_memory_not_equal(&plain, &other, sizeof(plain));
        }
    }
    make_example(&example);
    example.batch.tensor_count = 1;
    struct weir_digest less = trainer_digest_of(&example.batch);
    assert_memory_not_equal(&plain, &less, sizeof(plain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_page),
        cmocka_unit_test(the_order_of_holes_is_not_in_it),
        cmocka_unit_test(totals_over_ranks_are_not_in_it),
        cmocka_unit_test(everything_else_is_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
