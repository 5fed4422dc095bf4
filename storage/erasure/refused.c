/* Records that became no sample, in receipts: see refused.h. */
#include "storage/erasure/refused.h"

#include "core/base/memory.h"
#include "storage/erasure/dropping.h"
#include "storage/files/owned.h"
#include "storage/formats/text.h"
#include "storage/sql/queries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DATASETS_NAMED_MAX = 8, FILES_NAMED_MAX = 20 };

/* ---- files ---- */

/* "4 refused records still stand in a.jsonl (3), b.jsonl (1)" */
static void list_files(const struct weir_rows *rows, struct weir_buf *line)
{
    size_t count = weir_rows_count(rows);
    uint64_t files = (uint64_t)weir_rows_i64(rows, 0, "files");

    weir_buf_printf(line, "%" PRId64 " refused records still stand in ",
                    weir_rows_i64(rows, 0, "records_total"));
    for (size_t i = 0; i < count; i++) {
        struct weir_bytes bytes = weir_rows_bytes(rows, i, "path");
        WEIR_AUTO_FREE char *path =
            weir_strndup(bytes.size > 0 ? (const char *)bytes.at : "", bytes.size);
        WEIR_AUTO_FREE char *plain = storage_printable(path);

        weir_buf_printf(line, "%s%s (%" PRId64 ")", i > 0 ? ", " : "", plain,
                        weir_rows_i64(rows, i, "records"));
    }
    if (files > count)
        weir_buf_printf(line, " and %" PRIu64 " more files", files - count);
}

static void add_duplicates(int64_t count, struct weir_buf *line)
{
    if (count > 0)
        weir_buf_printf(line, "%s%" PRId64 " duplicates in its files",
                        line->size > 0 ? ", and " : "", count);
}

/* Advice on what can be done about them. */
static void add_advice(const struct dataset *dataset, const struct erase_request *request,
                       struct weir_buf *line)
{
    const char *obstacle = storage_drop_obstacle(dataset);

    weir_buf_append_text(line, "; ");
    if (obstacle != NULL)
        weir_buf_append_text(line, obstacle);
    else if (request->drops_refused)
        weir_buf_append_text(line,
                             "--drop-refused has left them: they were refused since, or nobody "
                             "can tell them from samples of their file");
    else
        weir_buf_printf(line, "weir erase request --drop-refused --dataset %s overwrites them%s",
                        dataset->name, storage_mirrors(dataset) ? " in Weir's mirror" : "");
}

static const char OF_NOBODY[] = "they are no samples, and nobody can tell whose they are";
static const char IN_OBJECTS[] =
    "they are no samples, and stay in objects of the bucket: delete or replace those objects";

/* False for what was overwritten in a mirror, and stays in objects alone. */
static bool stays_in_files(const struct weir_rows *files, const struct weir_rows *duplicates)
{
    return weir_rows_i64(duplicates, 0, "duplicates") > 0 ||
           (weir_rows_count(files) > 0 && weir_rows_bool(files, 0, "any_stays"));
}

static enum weir_status tell_dataset(struct store *store, const struct dataset *dataset,
                                     const struct erase_request *request, struct weir_buf *lines,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) files = NULL;
    WEIR_AUTO(weir_rows) duplicates = NULL;
    WEIR_AUTO_BUF line = {0};
    bool is_mirrored = storage_mirrors(dataset);
    enum weir_status status =
        DB_RUN(store->db, Q_refused_files, &files, err, DB_I64(dataset->number),
               DB_I64(FILES_NAMED_MAX), DB_BOOL(is_mirrored));

    if (status == WEIR_OK)
        status = DB_RUN(store->db, Q_duplicates_left, &duplicates, err, DB_I64(dataset->number));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(files) > 0)
        list_files(files, &line);
    add_duplicates(weir_rows_i64(duplicates, 0, is_mirrored ? "duplicate" : "duplicates"), &line);
    if (line.size == 0)
        return WEIR_OK;
    weir_buf_printf(lines, "%sdataset '%s': %s; ", lines->size > 0 ? "\n" : "", dataset->name,
                    weir_buf_text(&line));
    weir_buf_append_text(lines, is_mirrored ? IN_OBJECTS : OF_NOBODY);
    if (stays_in_files(files, duplicates))
        add_advice(dataset, request, lines);
    return WEIR_OK;
}

enum weir_status storage_refused_tell(struct store *store, const struct erase_request *request,
                                      struct weir_buf *lines, struct weir_error *err)
{
    const struct catalog *catalog = store->catalog;
    size_t named = 0, more = 0;
    enum weir_status status = WEIR_OK;

    weir_buf_clear(lines);
    for (size_t i = 0; status == WEIR_OK && i < catalog->count; i++) {
        const struct dataset *dataset = catalog->datasets[i];
        size_t before = lines->size;

        if ((request->dataset != 0 && request->dataset != dataset->number) ||
            dataset->accounts.quarantined + dataset->accounts.duplicate == 0)
            continue;
        if (named == DATASETS_NAMED_MAX)
            more++;
        else
            status = tell_dataset(store, dataset, request, lines, err);
        named += lines->size > before;
    }
    if (status == WEIR_OK && more > 0)
        weir_buf_printf(
            lines, "\n%zu more datasets have refused records or duplicates: weir datasets", more);
    return status;
}

/* ---- names ---- */

static bool is_erased(const struct store *store, const struct dataset *dataset,
                      struct weir_bytes part)
{
    static const enum storage_hash_domain DOMAINS[] = {HASH_SUBJECT, HASH_KEY};

    for (size_t i = 0; part.size > 0 && i < WEIR_COUNT(DOMAINS); i++) {
        struct key_name name = storage_key_name(&store->secret, DOMAINS[i], part);

        if (storage_erased_names_may(&store->erased, DOMAINS[i], name.hash) &&
            storage_erased_names_have(&store->erased, dataset->number, &name))
            return true;
    }
    return false;
}

bool storage_refused_is_named(const struct store *store, const struct dataset *dataset,
                              const char *path)
{
    while (*path) {
        size_t size = strcspn(path, "/");

        for (size_t end = size; end > 0; end--) {
            if ((end == size || path[end] == '.') &&
                is_erased(store, dataset, weir_bytes(path, end)))
                return true;
        }
        path += size + (path[size] == '/');
    }
    return false;
}
