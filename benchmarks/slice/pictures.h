/* Made-up photographs as JPEG files: DIRECTORY/00000.jpg, … */
#ifndef BENCHMARKS_SLICE_PICTURES_H
#define BENCHMARKS_SLICE_PICTURES_H

#include "benchmarks/slice/corpus.h"
#include "tests/support/jpeg_picture.h"

/* The dataset's source and time, for the folder (%s) that they are in. */
#define PICTURES_SOURCE                                                      \
    "    source: {path: %s, format: files, import: reference, settle: 0s}\n" \
    "    time: {from: mtime}\n"

enum { PICTURES_DRAWN = 16 /* the others are copies */ };

/* Makes corpus->directory, and writes corpus->samples pictures that are `like` this one but for the seed. */
enum weir_status pictures_write(const struct corpus *corpus, const struct jpeg_picture *like,
                                struct weir_error *err) WEIR_MUST_USE;

#endif
