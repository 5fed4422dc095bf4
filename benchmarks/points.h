/* A stream of points whose every sample fires a trigger, selects that one sample, and trains a linear model: what a
 * cycle costs is then all but the work itself. */
#ifndef BENCHMARKS_POINTS_H
#define BENCHMARKS_POINTS_H

#include "core/base/error.h"

/* Sections of a pipeline file, with %s for the folder; the keys of `preprocess` go on after them. */
#define POINTS_SECTIONS                                                                     \
    "datasets:\n"                                                                           \
    "  - name: points\n"                                                                    \
    "    source: {path: %s, format: csv, include: \"*.csv\"}\n"                             \
    "    time:   {from: field, field: ts}\n"                                                \
    "    label:  {field: y}\n"                                                              \
    "trigger:   {policy: amount, samples: 1}\n"                                             \
    "selection: {policy: new_data, tail_triggers: 0}\n"                                     \
    "training: {model: linear, loss: logistic, epochs: 1, seed: 1, start_from: previous,\n" \
    "           optimizer: {name: sgd, lr: 0.1}}\n"                                         \
    "preprocess:\n"                                                                         \
    "  operators: [{op: csv_fields, columns: [ts, x, y], fields: [x]}]\n"

/* Makes the folder, with `count` points, at most 24: one an hour of a day. */
enum weir_status points_write(const char *folder, int count, struct weir_error *err) WEIR_MUST_USE;

#endif
