/* A model as its difference from another one, bit for bit. What lies at the same place of the two files' blocks of
 * floats is compared, in pieces of 1 MiB (planes.h) that several threads work on.
 *
 *     0   8 bytes "WEIRDLT1"
 *     8   u64 bytes of the model        16  u64 bytes of the base
 *    24   XXH3-128 of the model         40  XXH3-128 of the base
 *    56   u32 sections, u32 zero
 *    64   sections: u64 bytes of the model, u64 offset in the base that they are compared with, u64 bytes there
 *    ..   XXH3-64 of all before
 *    ..   the planes of each piece; a section ends with a piece that may be shorter
 *    ..   u32[4] per piece: what is stored of its planes
 *    ..   XXH3-64 of these
 *
 * Integers are little-endian. */
#ifndef ORCHESTRATOR_MODELS_DELTA_H
#define ORCHESTRATOR_MODELS_DELTA_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/hash.h"

/* Writes `model` to `path`, durably and all or nothing, as its difference from `base`. Any two files will do: in model
 * files (core/wire/model_file.h) each block of floats is compared with its like, others from their beginnings. */
struct model_delta_written {
    uint64_t bytes;           /* of the file */
    struct weir_digest model; /* of the model's bytes */
};
enum weir_status orchestrator_model_delta_write(const char *path, struct weir_bytes model,
                                                struct weir_bytes base,
                                                struct model_delta_written *ret_written,
                                                struct weir_error *err) WEIR_MUST_USE;
/* Appends the model to `out`. CORRUPT when the delta is damaged, `base` is not what it was made from, or what comes out
 * is not the model; LIMIT when the model has more than `bytes_max`. */
enum weir_status orchestrator_model_delta_apply(struct weir_bytes delta, struct weir_bytes base,
                                                size_t bytes_max, struct weir_buf *out,
                                                struct weir_error *err) WEIR_MUST_USE;

#endif
