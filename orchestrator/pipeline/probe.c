/* Windows in, numbers out, and the files of reference windows. */
#include "orchestrator/pipeline/probe.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/loop/work.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char FOLDER[] = "probes";

/* ---- files ---- */

/* "7-embeddings-": of one pipeline and subject there is one reference at a time. */
static char *prefix_of(const struct pipeline *pipeline, enum trigger_subject subject)
{
    return weir_format("%" PRId64 "-%s-", pipeline->id, orchestrator_trigger_subject_name(subject));
}

static char *name_of(const struct pipeline *pipeline, const struct probe *probe)
{
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    char digest[WEIR_DIGEST_TEXT_MAX];
    WEIR_AUTO_BUF operators = {0};
    if (probe->model != NULL)
        weir_hasher_add(hasher, probe->model, strlen(probe->model));
    else /* what samples are like without a model: another file may have other operators */
        weir_yaml_print(weir_yaml_get(weir_yaml_root(pipeline->config->document), "preprocess"),
                        &operators);
    weir_hasher_add(hasher, operators.at, operators.size);
    weir_hasher_add(hasher, probe->request.reference.at,
                    probe->request.reference.count * sizeof(*probe->request.reference.at));
    const struct weir_digest whole = weir_hasher_digest(hasher);
    weir_digest_text(&whole, digest);
    WEIR_AUTO_FREE char *prefix = prefix_of(pipeline, probe->request.subject);
    return weir_format("%s%s", prefix, digest);
}

/* Removes the files whose names begin with `prefix`, but for the one called `but` (NULL: none is spared). */
static enum weir_status remove_files(const char *folder, const char *prefix, const char *but,
                                     int64_t *ret_removed, struct weir_error *err)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return errno == ENOENT
                   ? WEIR_OK
                   : weir_fail(err, WEIR_IO, "%s: cannot be read: %s", folder, strerror(errno));
    }
    enum weir_status status = WEIR_OK;
    const struct dirent *entry = NULL;
    while (status == WEIR_OK && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            (but != NULL && strcmp(entry->d_name, but) == 0))
            continue;
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, entry->d_name);
        if (unlink(path) < 0 && errno != ENOENT)
            status = weir_fail(err, WEIR_IO, "%s: cannot be removed: %s", path, strerror(errno));
        (*ret_removed)++;
    }
    if (status == WEIR_OK &&
        fsync(dirfd(directory)) != 0) /* a power cut must not bring them back */
        status = weir_fail(err, WEIR_IO, "%s: fsync: %s", folder, strerror(errno));
    (void)closedir(directory);
    return status;
}

enum weir_status orchestrator_probes_purge(const struct context *context, int64_t *ret_removed,
                                           struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = orchestrator_path(context, FOLDER, ".");
    return remove_files(folder, "", NULL, ret_removed, err);
}

/* Kept outputs only spare work: trouble with them is no trouble of the check. */
static void keep_reference(const struct probe *probe)
{
    struct weir_error err;
    int64_t removed = 0;
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", probe->folder, probe->name);
    enum weir_status status = weir_make_directories(probe->folder, 0700, &err);
    if (status == WEIR_OK)
        status = weir_outputs_write(path, &probe->reference.outputs, &err);
    if (status == WEIR_OK)
        status = remove_files(probe->folder, probe->prefix, probe->name, &removed, &err);
    if (status != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "a reference window is not kept", "because=\"%s\"", err.text);
}

/* ---- a probe ---- */

/* Both windows, or the current one alone; a sample may be in both. */
static void unite(struct probe *probe)
{
    const struct weir_u64s *current = &probe->request.current;
    const struct weir_u64s *reference = &probe->request.reference;
    size_t asked = probe->has_kept ? 0 : reference->count;
    size_t count = current->count + asked;
    probe->ids = weir_calloc(count + 1, sizeof(*probe->ids));
    if (current->count > 0)
        memcpy(probe->ids, current->at, current->count * sizeof(*probe->ids));
    if (asked > 0)
        memcpy(probe->ids + current->count, reference->at, asked * sizeof(*probe->ids));
    qsort(probe->ids, count, sizeof(*probe->ids), weir_order_u64);
    for (size_t i = 0; i < count; i++)
        if (probe->count == 0 || probe->ids[i] != probe->ids[probe->count - 1])
            probe->ids[probe->count++] = probe->ids[i];
}

enum weir_status orchestrator_pipeline_probe_new(struct pipeline *pipeline,
                                                 const struct trigger_request *request,
                                                 struct probe **ret_probe, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_model_newest, &rows, err, DB_I64(pipeline->id));
    if (status != WEIR_OK)
        return status;
    struct probe *probe = weir_calloc(1, sizeof(*probe));
    probe->request = *request;
    if (weir_rows_count(rows) > 0)
        probe->model = weir_strdup(weir_rows_text(rows, 0, "id"));
    probe->folder = orchestrator_path(pipeline->context, FOLDER, ".");
    probe->prefix = prefix_of(pipeline, request->subject);
    probe->name = name_of(pipeline, probe);
    *ret_probe = probe;
    return WEIR_OK;
}

void orchestrator_pipeline_probe_recall(struct probe *probe)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", probe->folder, probe->name);
    probe->has_kept = probe->request.reference.count > 0 &&
                      weir_outputs_open(path, &probe->kept, &err) == WEIR_OK;
    unite(probe);
}

static void found_fini(struct probe_found *found)
{
    orchestrator_metric_given_close(&found->given);
    free((void *)(uintptr_t)found->outputs.ids);
    free((void *)(uintptr_t)found->outputs.labels);
    free((void *)(uintptr_t)found->outputs.values);
    free((void *)(uintptr_t)found->outputs.label_values);
    free((void *)(uintptr_t)found->outputs.names.at);
}

void orchestrator_pipeline_probe_free(struct probe *probe)
{
    if (probe == NULL)
        return;
    if (probe->has_kept)
        weir_outputs_close(&probe->kept);
    found_fini(&probe->reference);
    found_fini(&probe->current);
    free(probe->ids);
    free(probe->model);
    free(probe->folder);
    free(probe->prefix);
    free(probe->name);
    free(probe);
}

/* The rows of one column; NULL stays NULL. */
static void *pick_column(const void *column, size_t bytes, const size_t *rows, size_t count)
{
    if (column == NULL)
        return NULL;
    uint8_t *picked = weir_calloc(count + 1, bytes + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(picked + i * bytes, (const uint8_t *)column + rows[i] * bytes, bytes);
    return picked;
}

/* A copy in which every text is UTF-8: a program may have said them. */
static struct weir_bytes copy_names(struct weir_bytes names)
{
    char *copy = weir_calloc(names.size + 1, 1);
    if (names.size > 0)
        memcpy(copy, names.at, names.size);
    for (size_t at = 0; at < names.size; at += strlen(copy + at) + 1)
        weir_utf8_repair(copy + at);
    return weir_bytes(copy, names.size);
}

/* The rows of `outputs` whose samples are among `ids`; both ascend. */
static void pick(const struct weir_outputs *outputs, struct weir_u64s ids,
                 struct probe_found *ret_found)
{
    WEIR_AUTO_FREE size_t *rows = weir_calloc(ids.count + 1, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0, k = 0; i < outputs->count && k < ids.count;) {
        bool is_it = outputs->ids[i] == ids.at[k];
        if (is_it)
            rows[count++] = i;
        bool behind = outputs->ids[i] > ids.at[k];
        i += !behind;
        k += behind || is_it;
    }
    ret_found->outputs = (struct weir_outputs){
        .ids = pick_column(outputs->ids, sizeof(*outputs->ids), rows, count),
        .labels = pick_column(outputs->labels, sizeof(*outputs->labels), rows, count),
        .values =
            pick_column(outputs->values, outputs->width * sizeof(*outputs->values), rows, count),
        .label_values =
            pick_column(outputs->label_values,
                        outputs->label_width * sizeof(*outputs->label_values), rows, count),
        .count = count,
        .width = outputs->width,
        .label_width = outputs->label_width,
        .label_kind = outputs->label_kind,
        .names = copy_names(outputs->names),
    };
    orchestrator_metric_given_open(&ret_found->outputs, &ret_found->given);
}

enum weir_status orchestrator_pipeline_probe_take(struct probe *probe, const char *path,
                                                  struct weir_work *work, struct weir_error *err)
{
    struct weir_outputs outputs = {0};
    enum weir_status status = path == NULL ? WEIR_OK : weir_outputs_open(path, &outputs, err);
    if (status != WEIR_OK)
        return status;
    pick(&outputs, probe->request.current, &probe->current);
    pick(probe->has_kept ? &probe->kept : &outputs, probe->request.reference, &probe->reference);
    if (path != NULL)
        weir_outputs_close(&outputs);
    if (!probe->has_kept && probe->reference.outputs.count > 0 && weir_work_goes_on(work, 0, 0))
        keep_reference(probe);
    return WEIR_OK;
}

static struct trigger_points points_of(const struct probe_found *found)
{
    const struct metric_input *input = &found->given.input;
    return (struct trigger_points){
        .ids = found->outputs.ids,
        .labels = input->labels,
        .values = input->values,
        .names = found->outputs.names.size > 0 ? (const char *)found->outputs.names.at : NULL,
        .count = input->count,
        .width = input->width,
        .numbers = input->numbers,
        .label_width = input->label_width};
}

void orchestrator_pipeline_probe_measured(const struct probe *probe,
                                          struct trigger_measured *ret_measured)
{
    ret_measured->reference = points_of(&probe->reference);
    ret_measured->current = points_of(&probe->current);
}
