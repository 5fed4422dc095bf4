/* Complaints about the records of a dataset: one line for all that are wrong in the same way, with the first. */
#include "storage/preview/preview.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>

enum { KINDS_MAX = 32, MEMBERS_TOLD_MAX = 400 };

/* Refusals of one kind. */
struct kind {
    const char *key; /* where it is declared: time, label, key, or source */
    size_t prefix;   /* of the reason: what is the same in all of them */
    uint64_t count;  /* of records, or of files */
    const struct staged_refusal *first;
    bool is_file; /* all that it holds */
};

static const char *key_of(const char *reason)
{
    static const char *const KEYS[] = {"time", "label", "key"};

    for (size_t i = 0; i < WEIR_COUNT(KEYS); i++) {
        size_t size = strlen(KEYS[i]);

        if (strncmp(reason, KEYS[i], size) == 0 && strchr(": ", reason[size]) != NULL)
            return KEYS[i];
    }
    return strncmp(reason, "found a name", 12) == 0 ? "time" : "source";
}

static void add_refusal(struct kind kinds[KINDS_MAX], size_t *count,
                        const struct staged_refusal *refusal)
{
    size_t prefix = cfg_reason_kind(refusal->reason), at = 0;

    while (at < *count && (kinds[at].prefix != prefix ||
                           strncmp(kinds[at].first->reason, refusal->reason, prefix) != 0))
        at++;
    if (at == KINDS_MAX)
        return;
    if (at == *count) {
        kinds[at] = (struct kind){.key = key_of(refusal->reason),
                                  .prefix = prefix,
                                  .first = refusal,
                                  .is_file = strcmp(refusal->place, refusal->path) == 0};
        ++*count;
    }
    kinds[at].count += refusal->count;
}

/* STORAGE_MORE_LIKE_THESE counts on behind those that are listed, of whatever kind: most are of the commonest. */
static void add_count(struct kind kinds[KINDS_MAX], size_t count, uint64_t more)
{
    size_t commonest = 0;

    for (size_t i = 1; i < count; i++)
        commonest = kinds[i].count > kinds[commonest].count ? i : commonest;
    if (count > 0)
        kinds[commonest].count += more;
}

/* ---- what there is instead ---- */

/* Appends the names of the members of the first record of a file of JSON lines. */
static void list_members(const struct preview *preview, const char *path, struct weir_buf *out)
{
    WEIR_AUTO_FREE char *head = weir_calloc(1, FORMAT_HEAD_MAX);
    WEIR_AUTO_FD int fd =
        weir_open_beneath(storage_preview_folder(preview, path), path, O_RDONLY | O_NONBLOCK);
    ssize_t size = fd >= 0 ? weir_read_at(fd, head, FORMAT_HEAD_MAX, 0) : 0;
    json_t *record = json_loadb(head, size > 0 ? (size_t)size : 0, JSON_DISABLE_EOF_CHECK, NULL);
    const char *name;
    json_t *value;
    size_t before = out->size;

    json_object_foreach(record, name, value)
    {
        WEIR_AUTO_FREE char *printable = storage_printable(name);

        if (out->size < before + MEMBERS_TOLD_MAX)
            weir_buf_printf(out, "%s%s", out->size > before ? ", " : "; its fields: ", printable);
    }
    json_decref(record);
}

/* ---- what was refused ---- */

static void complain(const struct preview *preview, const struct kind *kind, uint64_t records,
                     bool is_borne)
{
    bool is_remark = is_borne || storage_preview_bears(preview);
    WEIR_AUTO_BUF instead = {0};
    WEIR_AUTO_FREE char *count =
        weir_format("%llu of %llu: ", (unsigned long long)kind->count, (unsigned long long)records);
    const char *reason = kind->first->reason;

    if (strcmp(preview->declared.format->name, "jsonl") == 0 &&
        strstr(reason, "found none") != NULL)
        list_members(preview, kind->first->path, &instead);
    cfg_note_at(preview->complaints, is_remark ? WEIR_OK : WEIR_INVALID,
                storage_preview_place(preview, kind->key), "%s.%s: %s%s/%s: %s%s%s", preview->path,
                kind->key, kind->count > 1 ? count : "", preview->declared.source.path,
                kind->first->place, reason, weir_buf_text(&instead),
                is_borne ? " (preprocess.on_error bears as many)" : "");
}

static void note_refused(const struct preview *preview, double share)
{
    const struct batch *batch = preview->batch;
    struct kind kinds[KINDS_MAX];
    size_t count = 0;
    uint64_t refused = 0, more = 0;

    for (size_t i = 0; i < batch->refusals.count; i++) {
        const struct staged_refusal *refusal = &batch->refusals.at[i];

        refused += refusal->count;
        if (strcmp(refusal->reason, STORAGE_MORE_LIKE_THESE) == 0)
            more += refusal->count;
        else
            add_refusal(kinds, &count, refusal);
    }
    add_count(kinds, count, more);
    uint64_t records = batch->row_count + refused;
    bool is_borne = (double)refused <= share * (double)records && batch->row_count > 0;

    for (size_t i = 0; i < count; i++)
        complain(preview, &kinds[i], records,
                 is_borne && (!kinds[i].is_file || preview->declared.format->is_one_sample));
}

/* ---- what was read ---- */

static void note_names(const struct preview *preview, const char *key, size_t count)
{
    const struct batch *batch = preview->batch;

    if (weir_yaml_get(preview->node, key) == NULL || batch->row_count == 0 ||
        count == batch->row_count)
        return;
    WEIR_AUTO_BUF instead = {0};

    if (count == 0 && strcmp(preview->declared.format->name, "jsonl") == 0)
        list_members(preview, batch->segments.at[0].file->path, &instead);
    cfg_note_at(preview->complaints, count == 0 ? WEIR_INVALID : WEIR_OK,
                storage_preview_place(preview, key),
                "%s.%s: %s/%s: found none in %zu of %zu records, expected one in each%s",
                preview->path, key, preview->declared.source.path, batch->segments.at[0].file->path,
                batch->row_count - count, batch->row_count, weir_buf_text(&instead));
}

static int by_hash(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* A key that others have, too, names no sample; whoever says what is kept of such knows. */
static void note_shared_keys(const struct preview *preview)
{
    const struct batch *batch = preview->batch;
    size_t count = batch->keys.count, shared = 0;

    if (count < 2 || weir_yaml_get(preview->node, "duplicates") != NULL)
        return;
    WEIR_AUTO_FREE uint64_t *hashes = weir_calloc(count, sizeof(*hashes));
    for (size_t i = 0; i < count; i++)
        hashes[i] = batch->keys.at[i].hash;
    qsort(hashes, count, sizeof(*hashes), by_hash);
    for (size_t i = 1; i < count; i++)
        shared += hashes[i] == hashes[i - 1] ? 1 : 0;
    if (shared == 0)
        return;
    cfg_note_at(preview->complaints, WEIR_OK, storage_preview_place(preview, "key"),
                "%s.key: %zu of %zu records have the key of one before them, expected a key of its "
                "own for each: all are kept, unless `duplicates: {keep: …}` says otherwise",
                preview->path, shared, count);
}

/* A unit that is not meant puts all samples into 1970, or far ahead. */
static void note_times(const struct preview *preview)
{
    static const int64_t DAY_US = INT64_C(86400000000);
    const struct batch *batch = preview->batch;
    const int64_t *times = batch->columns[BATCH_TIME];
    int64_t first = INT64_MAX, last = INT64_MIN;
    char from[WEIR_TIME_TEXT_MAX], to[WEIR_TIME_TEXT_MAX];

    for (size_t i = 0; i < batch->row_count; i++) {
        first = times[i] < first ? times[i] : first;
        last = times[i] > last ? times[i] : last;
    }
    if (batch->row_count == 0 ||
        (first >= 365 * DAY_US && last <= weir_now_wall_us() + 365 * DAY_US))
        return;
    weir_time_format(first, from);
    weir_time_format(last, to);
    cfg_note_at(preview->complaints, WEIR_OK, storage_preview_place(preview, "time"),
                "%s.time: samples from %s to %s: is that when they happened? `unit` says what a "
                "number counts: s, ms, us, ns, excel",
                preview->path, from, to);
}

/* A pattern reads the whole value as text. */
static void note_unit(const struct preview *preview)
{
    const struct weir_yaml_node *time = weir_yaml_get(preview->node, "time");
    const struct weir_yaml_node *unit = weir_yaml_get(time, "unit");

    if (unit != NULL && weir_yaml_get(time, "pattern") != NULL)
        cfg_note_at(preview->complaints, WEIR_OK, unit,
                    "%s.time.unit: found beside pattern, by which nothing is read as a number: "
                    "expected one of both",
                    preview->path);
}

/* Files that the pattern leaves out, where it takes none: in a replay it cannot be the one that is meant. */
static bool note_others(const struct preview *preview)
{
    const struct source_section *source = &preview->declared.source;
    WEIR_AUTO_BUF others = {0};

    storage_preview_others(preview, &others);
    if (others.size > 0)
        cfg_note_at(preview->complaints, preview->is_live ? WEIR_OK : WEIR_INVALID,
                    storage_preview_place(preview, "source"),
                    "%s.source.include: found no file in %s that matches \"%s\", but %s: expected "
                    "a pattern of their names",
                    preview->path, source->path, source->include, weir_buf_text(&others));
    return others.size > 0;
}

static void note_empty(const struct preview *preview)
{
    if (preview->files > 0 && preview->is_whole && preview->batch->row_count == 0 &&
        preview->batch->refusals.count == 0 && preview->of_files.status == WEIR_OK)
        cfg_note_at(preview->complaints, WEIR_OK, storage_preview_place(preview, "source"),
                    "%s.source: no record in %zu files of %s (yet)", preview->path, preview->files,
                    preview->declared.source.path);
    if (preview->files > 0 || !preview->is_whole || note_others(preview))
        return;
    cfg_note_at(preview->complaints, WEIR_OK, storage_preview_place(preview, "source"),
                "%s.source: no file in %s matches include: \"%s\" (yet)", preview->path,
                preview->declared.source.path, preview->declared.source.include);
}

void storage_preview_mistakes(const struct preview *preview, double share)
{
    note_empty(preview);
    note_refused(preview, share);
    note_names(preview, "subject", preview->batch->subjects.count);
    if (!preview->declared.awaits_label)
        note_names(preview, "key", preview->batch->keys.count);
    if (!preview->declared.awaits_label)
        note_shared_keys(preview);
    note_times(preview);
    note_unit(preview);
}
