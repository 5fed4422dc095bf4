/* A model as a file: what the trainer stores at the end of a run, and (with a position) its
 * checkpoint. The same model has the same bytes: nothing in it tells of time, host or session.
 *
 *     0   8 bytes "WEIRMDL1"
 *     8   u64 bytes of the description   16  u64 parameters   24  u64 optimizer floats
 *    32   XXH3-128 of everything after byte 64
 *    48   XXH3-64 of the 48 bytes before, then zeros up to 64
 *    64   description: u32 version, u64 rows, u32 width, u32 embedding, u32 label kind; texts (u32
 *         size, bytes): model, options (YAML), loss, optimizer; u32 count and class names; bytes:
 *         fitted state; then, zero unless a checkpoint: u64 run, u64 samples, u64 epoch, f64 loss
 *         sum, f64 loss count, bytes: position; from version 2 on: u64 steps of the optimizer, u32
 *         count of blocks, and of each: text name, u64 rows, u32 width
 *     ..  f32 parameters, block after block; f32 optimizer state, 0 to WEIR_MODEL_STATE_BLOCKS_MAX
 *         times that shape; each at a multiple of 64
 *
 * Integers are little-endian. Version 2 is written. Version 1 is read too: it has one block, `parameters`, and no
 * steps. Rows are those of the only block, else 0; width is the number of outputs. */
#ifndef WEIR_WIRE_MODEL_FILE_H
#define WEIR_WIRE_MODEL_FILE_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/wire/wire.h"

enum { WEIR_MODEL_STATE_BLOCKS_MAX = 2 };

/* Progress of a run; all zero in a finished model. */
struct weir_model_progress {
    uint64_t run;
    uint64_t samples;           /* trained on */
    uint64_t epoch;             /* epoch of the loss below */
    double loss_sum;            /* over samples */
    double loss_count;          /* samples in it */
    struct weir_bytes position; /* core/wire/position.h */
};

/* A matrix of parameters, and of optimizer state. */
enum { WEIR_MODEL_BLOCKS_MAX = 4 };
struct weir_model_block {
    const char *name;
    uint64_t rows;
    uint32_t width;
};

struct weir_model_file {
    const char *model, *options, *loss, *optimizer;
    uint64_t rows;                                         /* of the only block, else 0 */
    uint32_t width, embedding;                             /* outputs, floats of an embedding */
    struct weir_model_block blocks[WEIR_MODEL_BLOCKS_MAX]; /* none to write: (rows, width) */
    size_t block_count;
    uint32_t label_kind;
    struct weir_strs classes; /* of the label, in order */
    struct weir_bytes fitted; /* of the operators it was trained after */
    struct weir_model_progress progress;
    const float *parameters;      /* the blocks, end to end */
    const float *optimizer_state; /* state_blocks times the same; NULL: there is none */
    uint32_t state_blocks;        /* 0: there is none */
    uint64_t steps;               /* steps that made the optimizer's state */

    struct weir_arena *arena; /* private: of a file that was read */
    struct weir_buf bytes;
};

/* True when it begins as a model file does. A program of the user stores files of its own. */
bool weir_model_file_begins(struct weir_bytes bytes);

/* Offsets of parameters and optimizer state in a file. */
struct weir_model_layout {
    size_t described;     /* bytes of the description */
    size_t floats;        /* parameters */
    size_t state_blocks;  /* of as many floats */
    size_t parameters_at; /* offset */
    size_t state_at;      /* offset; 0: there is none */
};
/* From the header alone: the blocks fit into `bytes`, the checksum over them is not looked at. CORRUPT. */
enum weir_status weir_model_file_layout(struct weir_bytes bytes,
                                        struct weir_model_layout *ret_layout,
                                        struct weir_error *err) WEIR_MUST_USE;

enum weir_status weir_model_file_write(const char *path, const struct weir_model_file *file,
                                       struct weir_error *err) WEIR_MUST_USE;
/* NOT_FOUND; CORRUPT when truncated or a checksum differs; UNSUPPORTED for a newer version.
 * Everything in `*ret_file` lives until weir_model_file_fini(). */
enum weir_status weir_model_file_read(const char *path, struct weir_model_file *ret_file,
                                      struct weir_error *err) WEIR_MUST_USE;
/* The same of bytes in memory, aligned as malloc() does: they are borrowed, and checked alike. */
enum weir_status weir_model_file_view(struct weir_bytes bytes, struct weir_model_file *ret_file,
                                      struct weir_error *err) WEIR_MUST_USE;
void weir_model_file_fini(struct weir_model_file *file); /* zeroed is fine */

#endif
