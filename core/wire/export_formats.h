/* The formats of exports there are: X(name, what it is). To add one: write trainer_client/exports/export_NAME.c and
 * name it here. weir, which checks what is asked for, and the trainer, which writes, read this list. */
#ifndef WEIR_WIRE_EXPORT_FORMATS_H
#define WEIR_WIRE_EXPORT_FORMATS_H

// clang-format off
#define EXPORT_FORMATS(X)                                                                  \
    X(mds, "MosaicML's shards and index.json")                                             \
    X(npy, "NumPy's arrays, one a column; a ragged column is its values and offsets")      \
    X(tar, "WebDataset's shards, a .npy per column and sample, and .cls")                  \
    X(tfrecord, "TensorFlow's records of tf.train.Example")
// clang-format on

#endif
