/* Made-up samples in files, the same on any machine, and where each of them lies. Owned by the
 * benchmark; the files lie in its scratch directory and stay in the page cache. */
#ifndef BENCHMARKS_SLICE_CORPUS_H
#define BENCHMARKS_SLICE_CORPUS_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CORPUS_FILES = 4,
    CORPUS_RECORD_BYTES = 160, /* label i32, 13 numbers f32, 26 categories i32 */
};

/* In the order in which storage numbers them: by path, then by place. Files are days: all samples
 * of a file have the time in its name. */
struct corpus {
    char *directory;
    size_t samples;
    struct weir_bytes mapped[CORPUS_FILES]; /* the files, in memory */
    int64_t times_us[CORPUS_FILES];
    uint8_t *files;
    uint64_t *offsets;
    uint32_t *lengths;
    int32_t *labels;
};

static inline struct weir_bytes corpus_sample(const struct corpus *corpus, size_t sample)
{
    return weir_bytes(corpus->mapped[corpus->files[sample]].at + corpus->offsets[sample],
                      corpus->lengths[sample]);
}

/* day_2026-01-01 … with fixed records. */
enum weir_status corpus_make_records(const char *directory, size_t samples,
                                     struct corpus *ret_corpus,
                                     struct weir_error *err) WEIR_MUST_USE;
/* day_2026-01-01 … with lines {"label": 0, "text": "…"} of about 400 bytes. */
enum weir_status corpus_make_texts(const char *directory, size_t samples, struct corpus *ret_corpus,
                                   struct weir_error *err) WEIR_MUST_USE;
/* day_2026-01-01 … with lines of 6 to 12 words and no label. */
enum weir_status corpus_make_lines(const char *directory, size_t samples, struct corpus *ret_corpus,
                                   struct weir_error *err) WEIR_MUST_USE;
/* The same with words whose number is log-normal around 40, 1 to 800. */
enum weir_status corpus_make_uneven_lines(const char *directory, size_t samples,
                                          struct corpus *ret_corpus,
                                          struct weir_error *err) WEIR_MUST_USE;
void corpus_fini(struct corpus *corpus); /* zeroed is fine */

#endif
