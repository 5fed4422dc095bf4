/* Every format of exports: a folder is the same whether its writer lived or not, and nothing of another's is touched.
 * With a folder as argument the sample is written there, for exports_numpy_test.py to read. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/wire/export_formats.h"
#include "tests/support/temp_dir.h"
#include "trainer_client/exports/export.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BATCHES = 7, SAMPLES = 5, DENSE = 6, RAGGED_MAX = 400, SHARD_BYTES = 900 };

static const char *const FORMATS[] = {
#define X(name, index, doc) #name,
    EXPORT_FORMATS(X)
#undef X
};

static struct temp_dir temp;

/* A batch whose numbers follow from its place: exports_numpy_test.py makes the same. */
struct sample_batch {
    uint64_t ids[SAMPLES];
    int64_t labels[SAMPLES];
    float weights[SAMPLES];
    float dense[SAMPLES * DENSE];
    uint8_t bytes[SAMPLES * 2];
    double doubles[SAMPLES];
    int32_t words[SAMPLES * RAGGED_MAX];
    int64_t pairs[SAMPLES * 6];
    uint32_t word_ends[SAMPLES + 1], pair_ends[SAMPLES + 1];
    struct weir_tensor tensors[5];
    struct weir_batch batch;
};

static void fill(struct sample_batch *sample, uint64_t number)
{
    memset(sample, 0, sizeof(*sample));
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint64_t n = number * SAMPLES + i;
        uint32_t words = n == 3 ? RAGGED_MAX - 100 : (uint32_t)(n % 4); /* n = 0: none */
        sample->ids[i] = n << 40 | 7;
        sample->labels[i] = (int64_t)n - 10;
        sample->weights[i] = 1.0f + (float)n / 4;
        sample->doubles[i] = (double)n / 8;
        for (uint64_t j = 0; j < DENSE; j++)
            sample->dense[i * DENSE + j] = (float)(n * DENSE + j) / 2;
        for (uint64_t j = 0; j < 2; j++)
            sample->bytes[i * 2 + j] = (uint8_t)(n * 37 + j);
        for (uint32_t j = 0; j < words; j++)
            sample->words[sample->word_ends[i] + j] = (int32_t)(n * 1000 + j) - 2000;
        sample->word_ends[i + 1] = sample->word_ends[i] + words;
        for (uint32_t j = 0; j < 2 * (n % 3); j++)
            sample->pairs[2 * sample->pair_ends[i] + j] = -(int64_t)(n * 10 + j);
        sample->pair_ends[i + 1] = sample->pair_ends[i] + (uint32_t)(n % 3);
    }
    const struct weir_tensor tensors[] = {
        {"dense", WEIR_TENSOR_F32, 3, {SAMPLES, 2, 3}, NULL, sample->dense, sizeof(sample->dense)},
        {"bytes", WEIR_TENSOR_U8, 2, {SAMPLES, 2}, NULL, sample->bytes, sizeof(sample->bytes)},
        {"double", WEIR_TENSOR_F64, 1, {SAMPLES}, NULL, sample->doubles, sizeof(sample->doubles)},
        {"words", WEIR_TENSOR_I32, 1, {SAMPLES}, sample->word_ends, sample->words, 0},
        {"pairs", WEIR_TENSOR_I64, 2, {SAMPLES, 2}, sample->pair_ends, sample->pairs, 0},
    };
    memcpy(sample->tensors, tensors, sizeof(tensors));
    sample->batch = (struct weir_batch){.number = number,
                                        .samples = SAMPLES,
                                        .ids = sample->ids,
                                        .labels = sample->labels,
                                        .label_type = WEIR_LABELS_INT,
                                        .weights = sample->weights,
                                        .tensor_count = WEIR_COUNT(tensors),
                                        .tensors = sample->tensors};
}

static struct export begin(const char *format, const char *folder)
{
    return (struct export){
        .format = trainer_export_format_find(format), .folder = folder, .shard_bytes = SHARD_BYTES};
}

/* Takes batches from `first` on up to `last`, and keeps in `state` where the newest complete shard ends. Returns the
 * batch after that. */
static uint64_t take(struct export *export, uint64_t first, uint64_t last, struct weir_buf *state)
{
    struct weir_error err;
    WEIR_AUTO_FREE struct sample_batch *sample = weir_calloc(1, sizeof(*sample));
    uint64_t kept = first;
    for (uint64_t number = first; number < last; number++) {
        fill(sample, number);
        assert_int_equal(trainer_export_add(export, &sample->batch, &err), WEIR_OK);
        if (!trainer_export_is_full(export) && number + 1 < BATCHES)
            continue;
        assert_int_equal(trainer_export_seal(export, &err), WEIR_OK);
        weir_buf_clear(state);
        trainer_export_save(export, state);
        kept = number + 1;
    }
    return kept;
}

static void finish(struct export *export)
{
    struct weir_error err;
    assert_int_equal(trainer_export_finish(export, &err), WEIR_OK);
    trainer_export_fini(export);
}

static void write_all(const char *format, const char *folder)
{
    WEIR_AUTO_BUF state = {0};
    struct weir_error err;
    struct export export = begin(format, folder);
    assert_int_equal(weir_make_directories(folder, 0755, &err), WEIR_OK);
    assert_int_equal(take(&export, 0, BATCHES, &state), BATCHES);
    finish(&export);
}

/* Each writer dies after so many batches, whatever it has begun. */
static void write_through_deaths(const char *format, const char *folder, uint64_t life)
{
    WEIR_AUTO_BUF state = {0};
    struct weir_error err;
    assert_int_equal(weir_make_directories(folder, 0755, &err), WEIR_OK);
    for (uint64_t next = 0; next < BATCHES;) {
        struct export export = begin(format, folder);
        if (state.size > 0)
            assert_int_equal(trainer_export_load(&export, weir_buf_view(&state), &err), WEIR_OK);
        uint64_t last = next + life < BATCHES ? next + life : BATCHES;
        uint64_t kept = take(&export, next, last, &state);
        life += kept == next; /* too short a life for any shard */
        next = kept;
        assert_int_equal(trainer_export_seal(&export, &err),
                         WEIR_OK); /* and dies before that is kept */
        trainer_export_fini(&export);
    }
    for (int times = 0; times < 2; times++) { /* … or after it has closed the folder */
        struct export export = begin(format, folder);
        assert_int_equal(trainer_export_load(&export, weir_buf_view(&state), &err), WEIR_OK);
        finish(&export);
    }
}

static void assert_same_folders(const char *one, const char *other)
{
    struct weir_error err;
    DIR *listed = opendir(one);
    const struct dirent *entry;
    size_t files = 0, others = 0;
    assert_non_null(listed);
    while ((entry = readdir(listed)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        WEIR_AUTO_BUF a = {0};
        WEIR_AUTO_BUF b = {0};
        WEIR_AUTO_FREE char *path_a = weir_format("%s/%s", one, entry->d_name);
        WEIR_AUTO_FREE char *path_b = weir_format("%s/%s", other, entry->d_name);
        assert_int_equal(weir_file_read(path_a, 1 << 20, &a, &err), WEIR_OK);
        assert_int_equal(weir_file_read(path_b, 1 << 20, &b, &err), WEIR_OK);
        assert_true(weir_bytes_equal(weir_buf_view(&a), weir_buf_view(&b)));
        files++;
    }
    (void)closedir(listed);
    listed = opendir(other);
    assert_non_null(listed);
    while ((entry = readdir(listed)) != NULL)
        others += entry->d_name[0] != '.';
    (void)closedir(listed);
    assert_true(files > 1);
    assert_int_equal(files, others);
}

static void writers_that_die_leave_the_same_folder(void **state)
{
    (void)state;
    for (size_t f = 0; f < WEIR_COUNT(FORMATS); f++) {
        WEIR_AUTO_FREE char *whole = weir_format("%s/whole-%s", temp.path, FORMATS[f]);
        write_all(FORMATS[f], whole);
        for (uint64_t life = 1; life < BATCHES; life += 2) {
            WEIR_AUTO_FREE char *folder = weir_format("%s/%s-%d", temp.path, FORMATS[f], (int)life);
            write_through_deaths(FORMATS[f], folder, life);
            assert_same_folders(whole, folder);
        }
    }
}

static void beginning_again_removes_what_an_export_left_and_nothing_else(void **state)
{
    (void)state;
    struct weir_error err;
    for (size_t f = 0; f < WEIR_COUNT(FORMATS); f++) {
        WEIR_AUTO_FREE char *folder = weir_format("%s/clean-%s", temp.path, FORMATS[f]);
        WEIR_AUTO_FREE char *other = weir_format("%s/notes.txt", folder);
        write_all(FORMATS[f], folder);
        assert_int_equal(weir_file_write_atomic(other, weir_bytes_of("mine"), &err), WEIR_OK);
        assert_int_equal(weir_export_clean(folder, FORMATS[f], &err), WEIR_OK);
        assert_int_equal(access(other, F_OK), 0);
        assert_int_equal(unlink(other), 0);
        assert_int_equal(rmdir(folder), 0); /* nothing else is there */
    }
}

static void tensors_without_a_place_are_refused_in_words(void **state)
{
    (void)state;
    struct weir_error err;
    WEIR_AUTO_FREE struct sample_batch *sample = weir_calloc(1, sizeof(*sample));
    const struct {
        const char *name, *said;
    } BAD[] = {{"label", "has a column of that name already"},
               {"words", "has a column of that name already"},
               {"a/b", "needs a name of 1 to 63 letters"},
               {"", "needs a name of 1 to 63 letters"}};
    for (size_t i = 0; i < WEIR_COUNT(BAD); i++) {
        struct export export = begin("mds", temp.path);
        fill(sample, 0);
        sample->tensors[4].name = BAD[i].name;
        assert_int_equal(trainer_export_add(&export, &sample->batch, &err), WEIR_INVALID);
        assert_non_null(strstr(err.text, BAD[i].said));
        trainer_export_fini(&export);
    }
    struct export export = begin("mds", temp.path);
    fill(sample, 0);
    assert_int_equal(trainer_export_add(&export, &sample->batch, &err), WEIR_OK);
    sample->tensors[0].shape[1] = 1;
    assert_int_equal(trainer_export_add(&export, &sample->batch, &err), WEIR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "its shape differs from batch to batch"));
    trainer_export_fini(&export);
}

static void states_that_are_cut_or_longer_are_refused(void **state)
{
    (void)state;
    struct weir_error err;
    WEIR_AUTO_BUF saved = {0};
    struct export export = begin("tar", temp.path);
    (void)take(&export, 0, 4, &saved);
    trainer_export_fini(&export);
    assert_true(saved.size > 0);
    for (size_t size = 0; size <= saved.size + 1; size++) {
        struct export loaded = begin("tar", temp.path);
        WEIR_AUTO_BUF bytes = {0};
        weir_buf_append(&bytes, saved.at, size < saved.size ? size : saved.size);
        if (size > saved.size)
            weir_buf_append(&bytes, "x", 1);
        assert_int_equal(trainer_export_load(&loaded, weir_buf_view(&bytes), &err),
                         size == saved.size ? WEIR_OK : WEIR_CORRUPT);
        trainer_export_fini(&loaded);
    }
}

static int set_up(void **state)
{
    (void)state;
    temp_dir_make(&temp);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_dir_remove(&temp);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_that_die_leave_the_same_folder),
        cmocka_unit_test(beginning_again_removes_what_an_export_left_and_nothing_else),
        cmocka_unit_test(tensors_without_a_place_are_refused_in_words),
        cmocka_unit_test(states_that_are_cut_or_longer_are_refused),
    };
    for (size_t f = 0; argc > 1 && f < WEIR_COUNT(FORMATS); f++) {
        WEIR_AUTO_FREE char *folder = weir_format("%s/%s", argv[1], FORMATS[f]);
        write_all(FORMATS[f], folder);
    }
    return argc > 1 ? 0 : cmocka_run_group_tests_name("exports", tests, set_up, tear_down);
}
