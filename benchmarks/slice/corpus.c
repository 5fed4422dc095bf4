/* Generates samples and writes them out day by day. */
#include "benchmarks/slice/corpus.h"

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LABEL_BYTES = 4,
    NUMBERS = 13,
    CATEGORIES = 26,
    CATEGORY_MAX = 1000000,
    WORDS_MIN = 40,
    WORDS_MORE = 41, /* a text has 40 … 80 words */
    LINE_WORDS_MIN = 6,
    LINE_WORDS_MORE = 7, /* a line has 6 … 12 */
    UNEVEN_WORDS = 40,   /* half of the uneven lines have fewer */
    UNEVEN_WORDS_MAX = 800,
    WORD_LETTERS_MIN = 3,
    WORD_LETTERS_MORE = 5,
    VOCABULARY = 20000,
    SEED = 20260101,
};
static const double UNEVEN_SIGMA = 0.8;

/* Appends one sample to `out`; `*ret_length` is what a reader of the sample gets. */
typedef void write_fn(struct weir_rng *rng, int32_t label, struct weir_buf *out,
                      uint32_t *ret_length);

static void write_record(struct weir_rng *rng, int32_t label, struct weir_buf *out,
                         uint32_t *ret_length)
{
    uint8_t record[CORPUS_RECORD_BYTES];
    uint8_t *at = record + LABEL_BYTES;
    weir_put_u32(record, (uint32_t)label);
    for (int i = 0; i < NUMBERS; i++, at += sizeof(float)) {
        float value = (float)weir_rng_unit(rng);
        memcpy(at, &value, sizeof(value));
    }
    for (int i = 0; i < CATEGORIES; i++, at += sizeof(uint32_t))
        weir_put_u32(at, (uint32_t)weir_rng_below(rng, CATEGORY_MAX));
    weir_buf_append(out, record, sizeof(record));
    *ret_length = sizeof(record);
}

/* A word of the vocabulary, spelt from its number: few are frequent, most are rare. */
static void append_word(struct weir_rng *rng, struct weir_buf *out)
{
    uint64_t word = (uint64_t)(pow(weir_rng_unit(rng), 3) * VOCABULARY);
    uint64_t letters = weir_mix64(word);
    uint64_t size = WORD_LETTERS_MIN + letters % WORD_LETTERS_MORE;
    for (uint64_t i = 0; i < size; i++) {
        char letter = (char)('a' + (letters >> (8 * i + 3)) % 26);
        weir_buf_append(out, &letter, 1);
    }
}

static void write_text(struct weir_rng *rng, int32_t label, struct weir_buf *out,
                       uint32_t *ret_length)
{
    size_t start = out->size;
    uint64_t words = WORDS_MIN + weir_rng_below(rng, WORDS_MORE);
    weir_buf_printf(out, "{\"label\": %d, \"text\": \"", label);
    for (uint64_t i = 0; i < words; i++) {
        if (i > 0)
            weir_buf_append(out, " ", 1);
        append_word(rng, out);
    }
    weir_buf_append_text(out, "\"}");
    *ret_length = (uint32_t)(out->size - start);
    weir_buf_append(out, "\n", 1);
}

static void write_line(struct weir_rng *rng, int32_t label, struct weir_buf *out,
                       uint32_t *ret_length)
{
    (void)label;
    size_t start = out->size;
    uint64_t words = LINE_WORDS_MIN + weir_rng_below(rng, LINE_WORDS_MORE);
    for (uint64_t i = 0; i < words; i++) {
        if (i > 0)
            weir_buf_append(out, " ", 1);
        append_word(rng, out);
    }
    *ret_length = (uint32_t)(out->size - start);
    weir_buf_append(out, "\n", 1);
}

/* Log-normal: a few are many times as long as most. */
static void write_uneven_line(struct weir_rng *rng, int32_t label, struct weir_buf *out,
                              uint32_t *ret_length)
{
    (void)label;
    size_t start = out->size;
    double radius = sqrt(-2 * log(1 - weir_rng_unit(rng)));
    double words = UNEVEN_WORDS * exp(UNEVEN_SIGMA * radius * cos(2 * M_PI * weir_rng_unit(rng)));
    for (double i = 0; i < words && i < UNEVEN_WORDS_MAX; i++) {
        if (i > 0)
            weir_buf_append(out, " ", 1);
        append_word(rng, out);
    }
    *ret_length = (uint32_t)(out->size - start);
    weir_buf_append(out, "\n", 1);
}

static enum weir_status map_file(const char *path, size_t size, struct weir_bytes *ret_mapped,
                                 struct weir_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
    *ret_mapped = weir_bytes(at, size);
    return WEIR_OK;
}

static enum weir_status make_file(struct corpus *corpus, size_t file, write_fn *write_sample,
                                  struct weir_rng *rng, struct weir_error *err)
{
    WEIR_AUTO_BUF bytes = {0};
    size_t first = corpus->samples * file / CORPUS_FILES;
    size_t end = corpus->samples * (file + 1) / CORPUS_FILES;
    for (size_t i = first; i < end; i++) {
        corpus->files[i] = (uint8_t)file;
        corpus->offsets[i] = bytes.size;
        corpus->labels[i] = (int32_t)weir_rng_below(rng, 2);
        write_sample(rng, corpus->labels[i], &bytes, &corpus->lengths[i]);
    }
    WEIR_AUTO_FREE char *day = weir_format("2026-01-%02zu", file + 1);
    WEIR_AUTO_FREE char *path = weir_format("%s/day_%s", corpus->directory, day);
    weir_require(weir_time_parse(day, strlen(day), &corpus->times_us[file]));
    enum weir_status status = weir_file_write_atomic(path, weir_buf_view(&bytes), err);
    if (status != WEIR_OK)
        return status;
    return map_file(path, bytes.size, &corpus->mapped[file], err);
}

static enum weir_status make(const char *directory, size_t samples, write_fn *write_sample,
                             struct corpus *ret_corpus, struct weir_error *err)
{
    struct corpus corpus = {
        .directory = weir_strdup(directory),
        .samples = samples,
        .files = weir_calloc(samples, sizeof(*corpus.files)),
        .offsets = weir_calloc(samples, sizeof(*corpus.offsets)),
        .lengths = weir_calloc(samples, sizeof(*corpus.lengths)),
        .labels = weir_calloc(samples, sizeof(*corpus.labels)),
    };
    struct weir_rng rng;
    weir_rng_init(&rng, SEED);
    enum weir_status status = weir_make_directories(directory, 0755, err);
    for (size_t file = 0; status == WEIR_OK && file < CORPUS_FILES; file++)
        status = make_file(&corpus, file, write_sample, &rng, err);
    if (status != WEIR_OK) {
        corpus_fini(&corpus);
        return weir_error_wrap(err, status, "samples for the benchmark");
    }
    *ret_corpus = corpus;
    return WEIR_OK;
}

enum weir_status corpus_make_records(const char *directory, size_t samples,
                                     struct corpus *ret_corpus, struct weir_error *err)
{
    return make(directory, samples, write_record, ret_corpus, err);
}

enum weir_status corpus_make_texts(const char *directory, size_t samples, struct corpus *ret_corpus,
                                   struct weir_error *err)
{
    return make(directory, samples, write_text, ret_corpus, err);
}

enum weir_status corpus_make_lines(const char *directory, size_t samples, struct corpus *ret_corpus,
                                   struct weir_error *err)
{
    return make(directory, samples, write_line, ret_corpus, err);
}

enum weir_status corpus_make_uneven_lines(const char *directory, size_t samples,
                                          struct corpus *ret_corpus, struct weir_error *err)
{
    return make(directory, samples, write_uneven_line, ret_corpus, err);
}

void corpus_fini(struct corpus *corpus)
{
    for (size_t i = 0; i < CORPUS_FILES; i++) {
        if (corpus->mapped[i].at != NULL)
            munmap((void *)(uintptr_t)corpus->mapped[i].at, corpus->mapped[i].size);
    }
    free(corpus->directory);
    free(corpus->files);
    free(corpus->offsets);
    free(corpus->lengths);
    free(corpus->labels);
    *corpus = (struct corpus){0};
}
