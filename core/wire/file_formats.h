/* The formats of files there are. To add one: write storage/formats/format_NAME.c and name it here. Storage reads the
 * files; preprocess asks of a dataset whether its records have columns, so both services read this list. */
#ifndef WEIR_WIRE_FILE_FORMATS_H
#define WEIR_WIRE_FILE_FORMATS_H

/* X(name, true where records are rows of a table, whose columns can be told) */
// clang-format off
#define FILE_FORMATS(X) \
    X(binary, false) X(csv, true) X(files, false) X(jsonl, false) X(mds, false) X(tar, false) X(tfrecord, false)
// clang-format on

#endif
