/* The formats of exports there are, and which files of a folder are an export's. weir checks what is asked for, the
 * trainer writes, and the orchestrator removes what an erasure must not leave. To add one: write
 * trainer_client/exports/export_NAME.c and name it here. */
#ifndef WEIR_WIRE_EXPORT_FORMATS_H
#define WEIR_WIRE_EXPORT_FORMATS_H

#include "core/base/error.h"

/* X(name, index beside its shards or NULL, what it is). Files end in the format's name: "shard.00017.mds". */
// clang-format off
#define EXPORT_FORMATS(X)                                                                  \
    X(mds, "index.json", "MosaicML's shards and index.json")                               \
    X(npy, NULL, "NumPy's arrays, one a column; a ragged column is its values and offsets") \
    X(tar, NULL, "WebDataset's shards, a .npy per column and sample, and .cls")            \
    X(tfrecord, NULL, "TensorFlow's records of tf.train.Example")
// clang-format on

/* Removes the files that an export of the format has in the folder, temporary ones too; a folder that is not there is
 * fine. IO; UNSUPPORTED for an unknown format. */
enum weir_status weir_export_clean(const char *folder, const char *format,
                                   struct weir_error *err) WEIR_MUST_USE;

#endif
