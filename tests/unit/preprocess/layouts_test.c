/* Layouts of whole chunks: what is held is what storage said, as long as that holds, and not without end. */
#include "preprocess/worker/layouts.h"

#include "core/base/memory.h"
#include "core/wire/column.h"
#include "core/wire/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 600, EDITION = 7, PLACES = 6, BYTES_MAX = 1 << 20, NOW = 1000000 };

/* One chunk of dataset 3 as storage tells of it: row r lies at 10 r in file 40 + r % 2, 5 bytes, label -r, time 7 r. */
struct script {
    uint64_t edition, first;
    uint32_t count;
    uint32_t cut; /* bytes that the columns lack */
    bool is_erased[ROWS];
    bool is_even; /* all lie in file 41 */
};

struct fixture {
    struct layouts *layouts;
    struct located located;
    struct script script;
    bool is_changed;
};

static const struct script SCRIPT = {.edition = EDITION, .first = 3UL << 44 | 100, .count = ROWS};

static int begin(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));

    fixture->layouts = preprocess_layouts_new(BYTES_MAX);
    fixture->script = SCRIPT;
    fixture->located = (struct located){.count = ROWS};
    fixture->located.samples = weir_calloc(ROWS, sizeof(struct located_sample));
    fixture->located.unknown = weir_calloc(ROWS, sizeof(uint32_t));
    fixture->located.times = weir_calloc(ROWS, sizeof(int64_t));
    for (size_t i = 0; i < ROWS; i++)
        fixture->located.samples[i].id = SCRIPT.first + i * 7 % ROWS;
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    preprocess_located_fini(&fixture->located);
    preprocess_layouts_free(fixture->layouts);
    free(fixture);
    return 0;
}

static void pack(const struct script *script, struct weir_buf *columns, uint32_t bytes[PLACES])
{
    int64_t values[PLACES][ROWS];

    for (uint32_t r = 0; r < script->count; r++) {
        bool is_live = !script->is_erased[r];

        values[0][r] = is_live ? WEIR_SAMPLE_LIVE : WEIR_SAMPLE_ERASED;
        values[1][r] = script->is_even ? 41 : 40 + r % 2;
        values[2][r] = is_live ? 10 * r : 0;
        values[3][r] = is_live ? 5 : 0;
        values[4][r] = is_live ? -(int64_t)r : 0;
        values[5][r] = is_live ? 7 * (int64_t)r : 0;
    }
    for (size_t c = 0; c < PLACES; c++) {
        size_t before = columns->size;

        weir_column_pack(values[c], script->count, columns);
        bytes[c] = (uint32_t)(columns->size - before);
    }
}

/* The answer of storage about the dataset and, if `id` is not 0, the chunk that holds it. */
static enum weir_status answer(struct fixture *fixture, uint64_t id, int64_t now_ms)
{
    static const uint64_t DATASETS[] = {3}, INODES[] = {11, 12}, ZEROS[2], FIRST_FILE[] = {40};
    static const int64_t MTIMES[2];
    static const char *const PATHS[] = {"/a", "/b"};
    static const uint32_t LABEL_KIND[] = {WEIR_LABEL_INT}, FILE_COUNT[] = {2};
    const struct script *script = &fixture->script;
    WEIR_AUTO_BUF columns = {0};
    uint32_t bytes[PLACES];
    size_t chunks = id != 0, files = 2 * chunks;
    struct weir_error err;

    if (id != 0)
        pack(script, &columns, bytes);
    return preprocess_layouts_take(fixture->layouts,
                                   &(struct msg_located_chunks){.datasets = {DATASETS, 1},
                                                                .editions = {&script->edition, 1},
                                                                .ids = {&id, chunks},
                                                                .firsts = {&script->first, chunks},
                                                                .counts = {&script->count, chunks},
                                                                .bytes = {bytes, PLACES * chunks},
                                                                .label_kinds = {LABEL_KIND, chunks},
                                                                .first_files = {FIRST_FILE, chunks},
                                                                .file_counts = {FILE_COUNT, chunks},
                                                                .paths = {PATHS, files},
                                                                .layouts = {ZEROS, files},
                                                                .devices = {ZEROS, files},
                                                                .inodes = {INODES, files},
                                                                .sizes = {ZEROS, files},
                                                                .mtimes = {MTIMES, files}},
                                   weir_bytes(columns.at, columns.size - script->cut), now_ms,
                                   &fixture->is_changed, &err);
}

/* Fills in; returns how many samples are left to be asked for one by one. */
static size_t fill(struct fixture *fixture, int64_t now_ms)
{
    preprocess_layouts_fill(fixture->layouts, &fixture->located, now_ms);
    return fixture->located.unknown_count;
}

static void buy(struct fixture *fixture)
{
    struct msg_locate_chunks message;

    assert_int_equal(fill(fixture, NOW), ROWS);
    assert_true(preprocess_layouts_wanted(fixture->layouts, &message));
    assert_int_equal(message.ids.count, 1);
    assert_int_equal(answer(fixture, message.ids.at[0], NOW), WEIR_OK);
    assert_true(fixture->is_changed);
}

static void a_chunk_is_bought_when_it_has_been_asked_for_piece_by_piece(void **state)
{
    struct fixture *fixture = *state;
    struct msg_locate_chunks message;

    fixture->located.count = LAYOUTS_PRICE_IDS - 1;
    assert_int_equal(fill(fixture, NOW), LAYOUTS_PRICE_IDS - 1);
    assert_false(preprocess_layouts_wanted(fixture->layouts, &message));
    fixture->located.count = 1;
    assert_int_equal(fill(fixture, NOW), 1);
    assert_true(preprocess_layouts_wanted(fixture->layouts, &message));
    assert_int_equal(message.datasets.count, 1);
    assert_int_equal(message.datasets.at[0], 3);
    assert_int_equal(message.ids.count, 1);
    fixture->script.count = 0; /* it is not to be had: asking again comes as dear */
    assert_int_equal(answer(fixture, message.ids.at[0], NOW), WEIR_OK);
    assert_int_equal(fill(fixture, NOW), 1);
    assert_false(preprocess_layouts_wanted(fixture->layouts, &message));
}

static void expect_places(const struct fixture *fixture)
{
    for (size_t i = 0; i < ROWS; i++) {
        const struct located_sample *sample = &fixture->located.samples[i];
        uint64_t row = sample->id - SCRIPT.first, file = fixture->script.is_even ? 1 : row % 2;
        bool is_live = !fixture->script.is_erased[row];

        assert_int_equal(sample->state, is_live ? WEIR_SAMPLE_LIVE : WEIR_SAMPLE_ERASED);
        assert_int_equal(sample->offset, is_live ? 10 * row : 0);
        assert_int_equal(sample->length, is_live ? 5 : 0);
        assert_int_equal(sample->label, is_live ? -(int64_t)row : 0);
        assert_int_equal(fixture->located.times[i], is_live ? 7 * (int64_t)row : 0);
        assert_string_equal(fixture->located.files[sample->file].path, file == 0 ? "/a" : "/b");
        assert_int_equal(fixture->located.files[sample->file].inode, 11 + file);
    }
}

static void what_is_held_is_what_storage_said(void **state)
{
    struct fixture *fixture = *state;
    struct msg_locate_chunks message;

    fixture->script.is_erased[5] = true;
    buy(fixture);
    assert_int_equal(fill(fixture, NOW), 0);
    expect_places(fixture);
    assert_int_equal(fixture->located.file_count, 2);
    assert_int_equal(fixture->located.label_kind, WEIR_LABEL_INT);
    assert_true(preprocess_layouts_wanted(fixture->layouts, &message)); /* whether it still holds */
    assert_int_equal(message.ids.count, 0);
    assert_int_equal(answer(fixture, 0, NOW), WEIR_OK);
    assert_false(fixture->is_changed);
}

static void another_edition_is_another_layout(void **state)
{
    struct fixture *fixture = *state;

    buy(fixture);
    assert_int_equal(fill(fixture, NOW), 0);
    fixture->script.edition = EDITION + 1;
    assert_int_equal(answer(fixture, 0, NOW), WEIR_OK);
    assert_true(fixture->is_changed);
    assert_int_equal(fill(fixture, NOW), ROWS);
    fixture->script.edition = 0; /* nobody knows the dataset any more */
    assert_int_equal(answer(fixture, SCRIPT.first, NOW), WEIR_OK);
    assert_int_equal(fill(fixture, NOW), ROWS);
}

static void what_was_cleared_meanwhile_is_not_taken_for_held(void **state)
{
    struct fixture *fixture = *state;

    buy(fixture);
    assert_int_equal(fill(fixture, NOW), 0);
    preprocess_layouts_clear(fixture->layouts);
    assert_int_equal(answer(fixture, 0, NOW), WEIR_OK);
    assert_true(fixture->is_changed);
    assert_int_equal(fill(fixture, NOW), ROWS);
}

static void a_merged_chunk_takes_the_place_of_its_parts(void **state)
{
    struct fixture *fixture = *state;

    fixture->script.count = ROWS / 2;
    assert_int_equal(fill(fixture, NOW), ROWS);
    assert_int_equal(answer(fixture, SCRIPT.first, NOW), WEIR_OK);
    assert_int_equal(fill(fixture, NOW), ROWS / 2);
    fixture->script.count = ROWS;
    assert_int_equal(answer(fixture, SCRIPT.first + ROWS - 1, NOW), WEIR_OK);
    assert_int_equal(fill(fixture, NOW), 0);
    fixture->script.count = ROWS / 2; /* and a part that of the whole */
    assert_int_equal(answer(fixture, SCRIPT.first, NOW), WEIR_OK);
    assert_int_equal(fill(fixture, NOW), ROWS / 2);
}

/* Fills in the samples of a later block, laid out as those of the script. */
static size_t fill_block(struct fixture *fixture, uint64_t block, int64_t now_ms)
{
    for (size_t i = 0; i < ROWS; i++)
        fixture->located.samples[i].id = SCRIPT.first + block * WEIR_BLOCK_ROWS + i;
    return fill(fixture, now_ms);
}

/* Returns the most chunks that there is room for, even if each took nothing but its columns. */
static size_t chunks_max(void)
{
    WEIR_AUTO_BUF columns = {0};
    uint32_t bytes[PLACES];

    pack(&SCRIPT, &columns, bytes);
    return BYTES_MAX / columns.size;
}

static void expect_bounded(struct fixture *fixture, uint64_t blocks, int64_t now_ms)
{
    size_t held = 0;

    for (uint64_t block = 0; block < blocks; block++)
        held += fill_block(fixture, block, now_ms) == 0;
    assert_in_range(held, 1, chunks_max());
}

/* Chunks in use are not given up for new ones; idle ones are. */
static void memory_is_bounded(void **state)
{
    enum { LATER = NOW + LAYOUTS_IDLE_MS };
    struct fixture *fixture = *state;
    uint64_t blocks = 2 * chunks_max();

    buy(fixture);
    for (uint64_t block = 1; block < blocks; block++) {
        fixture->script.first = SCRIPT.first + block * WEIR_BLOCK_ROWS;
        assert_int_equal(answer(fixture, fixture->script.first, NOW), WEIR_OK);
    }
    expect_bounded(fixture, blocks, NOW);
    assert_int_equal(fill_block(fixture, 0, LATER), 0);
    assert_int_equal(answer(fixture, fixture->script.first, LATER), WEIR_OK);
    expect_bounded(fixture, blocks, LATER);
    assert_int_equal(fill_block(fixture, 0, LATER), 0);          /* it was in use */
    assert_int_equal(fill_block(fixture, blocks - 1, LATER), 0); /* in an idle one's room */
}

static void an_answer_that_does_not_fit_is_refused(void **state)
{
    struct fixture *fixture = *state;

    buy(fixture);
    fixture->script.cut = 1;
    assert_int_equal(answer(fixture, SCRIPT.first, NOW), WEIR_INVALID);
    assert_int_equal(fill(fixture, NOW), ROWS);
    fixture->script = SCRIPT;
    assert_int_equal(answer(fixture, SCRIPT.first + ROWS, NOW), WEIR_INVALID);
    fixture->script.first = (4UL << 44) - ROWS / 2; /* over the end of its block */
    assert_int_equal(answer(fixture, fixture->script.first, NOW), WEIR_INVALID);
    assert_int_equal(fill(fixture, NOW), ROWS);
}

static void samples_that_are_all_alike_are_where_storage_said(void **state)
{
    struct fixture *fixture = *state;

    fixture->script.is_even = true;
    buy(fixture);
    assert_int_equal(fill(fixture, NOW), 0);
    expect_places(fixture);
    assert_int_equal(fixture->located.file_count, 1);
}

#define LAYOUTS_CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAYOUTS_CASE(a_chunk_is_bought_when_it_has_been_asked_for_piece_by_piece),
        LAYOUTS_CASE(what_is_held_is_what_storage_said),
        LAYOUTS_CASE(samples_that_are_all_alike_are_where_storage_said),
        LAYOUTS_CASE(another_edition_is_another_layout),
        LAYOUTS_CASE(what_was_cleared_meanwhile_is_not_taken_for_held),
        LAYOUTS_CASE(a_merged_chunk_takes_the_place_of_its_parts),
        LAYOUTS_CASE(memory_is_bounded),
        LAYOUTS_CASE(an_answer_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("worker: layouts", tests, NULL, NULL);
}
