/* The datasets of a pipeline file, looked at before there is a store. */
#ifndef WEIR_STORAGE_LOOK_H
#define WEIR_STORAGE_LOOK_H

#include "core/service/service.h"

/* Appends what was found, for preprocess, which reads the records at their places, and for who compares labels:
 *
 *     {"datasets": [{"name", "path", "counts_lines", "is_one_sample", "gives_samples", "is_whole",
 *                    "columns": "a\nb\n", "kind", "classes": [name, …], "files": [[folder, path], …],
 *                    "samples", "about", "first", "last", "records": [[file, offset, length, time, label], …]}],
 *      "labels": [{"dataset", "kind", "classes", "width", "is_whole", "seen": [[label, count, place], …]}]}
 *
 * `samples` were looked at, of `about` so many, by the sizes of the files; 0: nobody can say. Times are in
 * microseconds; a label is a number, or null where it is a vector, none, or comes later. Of what was found
 * before this `before_run: true` is handed on: then records that are bad beside good ones are remarked, as a run judges
 * them all. `scratch` names a folder, which outlives this, for the beginnings of what cannot be read where it is.
 * `folders` is a folder_need by name; with `folders_alone: true` no more than that is looked at. */
void storage_look(const struct weir_look *look);

#endif
