/* Exports: what the operators of a pipeline made of each sample of a trigger's set, written as a folder outside of the
 * data directory, in a format that other tools read. Each is a run of mode `export` that the built-in trainer does, so
 * that leases, audit and erasures are those of any run.
 *
 *     open    its run is under way, or begins again when the orchestrator does
 *     done    the folder is whole                failed  why is in its run; asked for again, it goes on
 *
 * Owned by: struct orchestrator. Survives: a crash between any two steps. */
#ifndef ORCHESTRATOR_EXPORTS_EXPORTS_H
#define ORCHESTRATOR_EXPORTS_EXPORTS_H

#include "orchestrator/pipeline/pipeline.h"

#include <sys/queue.h>

struct export_run;

struct exports {
    struct context *context;
    struct runs *runs;
    struct pipelines *pipelines;
    LIST_HEAD(, export_run) all;
};

struct export_order {
    struct pipeline *pipeline;
    int64_t trigger; /* 0: the newest one that has a set */
    const char *directory, *format;
    uint64_t shard_bytes;
};

/* Begins an export, or goes on with the unfinished one of the same set to the same folder; one that is done and still
 * there stays. Makes the folder, whose parent must exist. INVALID for a folder that is no place for one, EXISTS when it
 * is not empty, NOT_FOUND without a set. */
enum weir_status orchestrator_export_order(struct exports *exports,
                                           const struct export_order *order, int64_t *ret_number,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Ends the run of an export, if it has one; the row stays as it is. */
void orchestrator_export_break_off(struct exports *exports, int64_t number);
/* Takes up the open ones. */
enum weir_status orchestrator_exports_load(struct exports *exports,
                                           struct weir_error *err) WEIR_MUST_USE;
void orchestrator_exports_free(struct exports *exports);

/* ---- dropping.c ---- */

/* Ends an export, removes what it has in its folder, and forgets it: erasures no longer name it. The folder goes too
 * when nothing else is in it. UNAVAILABLE while its writer ends: to be ordered again. `*ret_there`: the folder was. */
enum weir_status orchestrator_export_drop(struct exports *exports, int64_t number,
                                          char **ret_directory, bool *ret_there,
                                          struct weir_error *err) WEIR_MUST_USE;

/* ---- folder.c ---- */

/* The absolute path without links of the folder that is to be written; makes it when it is not there. In caller's
 * memory. INVALID when it cannot be made, or lies in the data directory or around it. */
enum weir_status orchestrator_export_folder(const char *data_dir, const char *directory,
                                            char **ret_folder,
                                            struct weir_error *err) WEIR_MUST_USE;
enum weir_status orchestrator_export_folder_is_empty(const char *folder, bool *ret_is,
                                                     struct weir_error *err) WEIR_MUST_USE;

#endif
