/* A model that is a directory of files, as one file: a plain ustar archive, so that any tar opens it. The same names
 * and bytes make the same archive: files by ascending name, without times, owners and rights, each header with the user
 * name "weir-model" by which such an archive is known. Directories are there by the names of their files. */
#ifndef WEIR_WIRE_MODEL_PACK_H
#define WEIR_WIRE_MODEL_PACK_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/wire/ustar.h"

enum {
    WEIR_MODEL_PACK_BYTES_MAX = 1 << 30,
    WEIR_MODEL_PACK_FILES_MAX = 4096,
    WEIR_MODEL_PACK_NAME_MAX = 255, /* bytes of a name, with the directories it lies in */
    WEIR_MODEL_PACK_DEPTH_MAX = 16, /* directories in each other */
};

/* True when it begins as such an archive does. */
bool weir_model_pack_begins(struct weir_bytes bytes);

/* ---- the format, pure ---- */

/* Fills the header of a file. INVALID for a name that is too long, or no plain path below a directory. */
enum weir_status weir_model_pack_header(const char *name, uint64_t size,
                                        uint8_t header[WEIR_TAR_BLOCK],
                                        struct weir_error *err) WEIR_MUST_USE;

struct weir_model_pack_reader {
    struct weir_bytes pack;
    size_t at, count;                        /* bytes and files behind it */
    char name[WEIR_MODEL_PACK_NAME_MAX + 1]; /* of the newest file; "": before the first */
    struct weir_bytes bytes;                 /* its content */
};
/* Moves on to the next file, from the first one in a reader with nothing but `pack`. NOT_FOUND after the last one;
 * CORRUPT for whatever weir_model_pack_write() would not have written. */
enum weir_status weir_model_pack_next(struct weir_model_pack_reader *reader,
                                      struct weir_error *err) WEIR_MUST_USE;

/* ---- directories ---- */

/* Writes the files of `directory` to `path`, durably and all or nothing. INVALID where it holds a link or anything else
 * that is neither file nor directory, or no file; LIMIT above the bounds. */
enum weir_status weir_model_pack_write(const char *directory, const char *path,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Makes `directory` with the files of the archive; all is checked before anything is written, and what an error leaves
 * behind is removed. EXISTS when there is something of that name. */
enum weir_status weir_model_pack_unpack(struct weir_bytes pack, const char *directory,
                                        struct weir_error *err) WEIR_MUST_USE;

#endif
