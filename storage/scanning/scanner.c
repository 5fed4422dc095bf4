/* Scans one after the other: see scanner.h. */
#include "storage/scanning/scanner.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/objects/s3_mirror.h"

#include <stdlib.h>
#include <string.h>

enum {
    RESCAN_MS = 30000,
    FIRST_SCANS_MS = 30000, /* time for a start to look at all sources */
    RETRY_MS = 1000,
    WAIT_MS = 50,
};
/* A scan that lasted t is not followed by another for so many t: scans of what events have named, of
 * everything because events were lost, and of everything only to be sure. */
enum { REST_SCANS = 4, REST_RESCANS = 19 };

struct scanner {
    struct store *store;
    struct mirrors *mirrors;
    struct scan_tools tools;
    uint32_t rotation; /* the dataset whose scan has the next piece */
    int64_t first_until_ms;
    uint64_t rescan_timer, again_timer;
    char **troubles; /* by dataset: why its newest scan could not run, or NULL */
    size_t trouble_count;
};

const struct scan_tools *storage_scanner_tools(const struct scanner *scanner)
{
    return &scanner->tools;
}

static void on_again(void *owner);

static void look_again(struct scanner *scanner, int64_t delay_ms)
{
    if (scanner->again_timer == 0)
        scanner->again_timer =
            weir_loop_timer(scanner->store->loop, delay_ms, 0, on_again, scanner);
}

static bool may_scan(const struct dataset *dataset, int64_t now_ms)
{
    return !storage_scan_is_running(dataset) && now_ms >= dataset->next_scan_ms &&
           (!dataset->dirty.is_whole || now_ms >= dataset->next_whole_ms);
}

/* True when there is something to scan, and all of it is there. */
static bool has_source(struct scanner *scanner, const struct dataset *dataset)
{
    const struct declaration *d = dataset->declaration;

    return !d->is_pushed && (!d->is_mirrored || storage_mirror_is_ready(scanner->mirrors, dataset));
}

void storage_scanner_start(struct scanner *scanner)
{
    const struct catalog *catalog = scanner->store->catalog;
    int64_t now_ms = weir_now_ms();

    for (size_t i = 0; i < catalog->count; i++) {
        struct dataset *dataset = catalog->datasets[i];

        if (storage_scope_is_empty(&dataset->dirty) || !has_source(scanner, dataset))
            continue;
        if (!may_scan(dataset, now_ms)) {
            look_again(scanner, WAIT_MS);
            continue;
        }
        dataset->scan_started_ms = now_ms;
        dataset->scan_busy_ms = 0;
        storage_scan_start(dataset);
    }
    storage_pump(scanner->store);
}

void storage_scanner_start_all(struct scanner *scanner)
{
    const struct catalog *catalog = scanner->store->catalog;

    for (size_t i = 0; i < catalog->count; i++)
        storage_scope_add_all(&catalog->datasets[i]->dirty);
    storage_scanner_start(scanner);
}

static void on_again(void *owner)
{
    struct scanner *scanner = owner;

    scanner->again_timer = 0;
    if (!scanner->store->is_stale) /* else everything is started once the catalog is loaded */
        storage_scanner_start(scanner);
}

/* ---- scans ---- */

/* Remembers why a source cannot be scanned, and says so once. */
static void note_trouble(struct scanner *scanner, const struct dataset *dataset, const char *text)
{
    char **slot;

    while (scanner->trouble_count < dataset->number) {
        scanner->troubles =
            weir_realloc(scanner->troubles, scanner->trouble_count + 1, sizeof(char *));
        scanner->troubles[scanner->trouble_count++] = NULL;
    }
    slot = &scanner->troubles[dataset->number - 1];
    if (weir_str_equal(*slot, text))
        return;
    if (text != NULL)
        weir_log(WEIR_LOG_WARN, "source cannot be scanned", "dataset=%s error=\"%s\"",
                 dataset->name, text);
    free(*slot);
    *slot = text != NULL ? weir_strdup(text) : NULL;
}

/* A row of the manifest may be about any file. */
static bool means_all(const struct dataset *dataset, const char *path)
{
    const struct declaration *d = dataset->declaration;

    return path == NULL || (d->wants_manifest && strcmp(path, d->source.manifest) == 0);
}

static void mark_dirty(struct scanner *scanner, struct dataset *dataset, const char *path)
{
    if (means_all(dataset, path))
        storage_scope_add_all(&dataset->dirty);
    else
        storage_scope_add(&dataset->dirty, path);
    look_again(scanner, dataset->declaration->source.settle / 1000 + 1);
}

static void on_changed(void *owner, uint32_t number, const char *path)
{
    struct scanner *scanner = owner;
    const struct catalog *catalog = scanner->store->catalog;

    for (size_t i = 0; !scanner->store->is_stale && i < catalog->count; i++) {
        if (number == 0 || number == catalog->datasets[i]->number)
            mark_dirty(scanner, catalog->datasets[i], path);
    }
}

static void end_scan(struct scanner *scanner, struct dataset *dataset,
                     const struct scan_outcome *outcome)
{
    bool is_remote = dataset->declaration->is_remote;
    int64_t now_ms = weir_now_ms();
    int64_t took_ms = is_remote ? dataset->scan_busy_ms : now_ms - dataset->scan_started_ms;

    note_trouble(scanner, dataset, NULL);
    if (outcome->is_whole) {
        dataset->next_whole_ms = now_ms + REST_SCANS * took_ms;
        dataset->next_periodic_ms = now_ms + REST_RESCANS * took_ms;
    } else {
        dataset->next_scan_ms = now_ms + REST_SCANS * took_ms;
    }
    if (is_remote &&
        dataset->next_scan_ms < now_ms + RETRY_MS) /* a bucket is not asked again at once */
        dataset->next_scan_ms = now_ms + RETRY_MS;
    weir_log(WEIR_LOG_DEBUG, "scan finished", "dataset=%s whole=%d ms=%lld sequence=%llu live=%llu",
             dataset->name, outcome->is_whole, (long long)took_ms,
             (unsigned long long)dataset->sequence, (unsigned long long)dataset->accounts.live);
    if (!storage_scope_is_empty(&dataset->dirty))
        look_again(scanner, dataset->declaration->source.settle / 1000 + WAIT_MS);
}

bool storage_scanner_is_first(const struct scanner *scanner)
{
    const struct catalog *catalog = scanner->store->catalog;

    if (weir_now_ms() >= scanner->first_until_ms)
        return false;
    for (size_t i = 0; i < catalog->count; i++) {
        const struct dataset *dataset = catalog->datasets[i];

        if (!dataset->declaration->is_pushed && !dataset->declaration->is_mirrored &&
            storage_scanner_trouble(scanner, dataset) == NULL &&
            !storage_scan_has_seen_all(dataset))
            return true;
    }
    return false;
}

const char *storage_scanner_trouble(const struct scanner *scanner, const struct dataset *dataset)
{
    return dataset->number <= scanner->trouble_count ? scanner->troubles[dataset->number - 1]
                                                     : NULL;
}

/* A source that is not there is looked for every second: it may be a disk that comes back. */
static void miss_source(struct scanner *scanner, struct dataset *dataset, const char *text)
{
    int64_t now_ms = weir_now_ms();

    note_trouble(scanner, dataset, text);
    storage_scope_add_all(&dataset->dirty);
    dataset->next_whole_ms = now_ms + RETRY_MS + REST_SCANS * (now_ms - dataset->scan_started_ms);
    look_again(scanner, RETRY_MS);
}

/* The source itself is in the way, or the place of its copies, not Postgres: it concerns no other dataset. */
static bool is_missed(enum weir_status status)
{
    return status == WEIR_NOT_FOUND || status == WEIR_INVALID || status == WEIR_DENIED ||
           status == WEIR_IO;
}

/* One piece of the dataset's scan; false when it has to wait. */
static bool step(struct scanner *scanner, struct dataset *dataset)
{
    struct scan_outcome outcome;
    struct weir_error err;
    int64_t began_ms = weir_now_ms();
    enum weir_status status = storage_scan_step(dataset, &scanner->tools, &outcome, &err);

    dataset->scan_busy_ms += weir_now_ms() - began_ms;
    if (is_missed(status)) {
        miss_source(scanner, dataset, err.text);
        if (outcome.is_undone)
            storage_retry_later(scanner->store);
        return true;
    }
    if (status != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "scan interrupted, starting it again", "dataset=%s error=\"%s\"",
                 dataset->name, err.text);
        storage_retry_later(scanner->store);
        return true;
    }
    if (outcome.is_done)
        end_scan(scanner, dataset, &outcome);
    if (!outcome.is_waiting && outcome.wait_ms > 0)
        look_again(scanner, outcome.wait_ms);
    return !outcome.is_waiting && outcome.wait_ms == 0;
}

bool storage_scanner_step(struct scanner *scanner, bool is_erasing)
{
    const struct catalog *catalog = scanner->store->catalog;

    scanner->tools.is_erasing = is_erasing;
    for (size_t i = 0; i < catalog->count; i++) {
        struct dataset *dataset = catalog->datasets[scanner->rotation++ % catalog->count];

        if (storage_scan_is_running(dataset) && step(scanner, dataset))
            return !scanner->store->is_stale;
    }
    return false;
}

/* ---- life ---- */

static void on_rescan(void *owner)
{
    struct scanner *scanner = owner;
    const struct catalog *catalog = scanner->store->catalog;

    storage_open_files_clear(scanner->tools.from->files);
    if (scanner->store->is_stale)
        return;
    for (size_t i = 0; i < catalog->count; i++) {
        if (weir_now_ms() >= catalog->datasets[i]->next_periodic_ms)
            storage_scope_add_all(&catalog->datasets[i]->dirty);
    }
    storage_scanner_start(scanner);
}

struct scanner *storage_scanner_new(struct store *store, const struct gather_from *from,
                                    struct mirrors *mirrors)
{
    struct scanner *scanner = weir_calloc(1, sizeof(*scanner));

    scanner->store = store;
    scanner->mirrors = mirrors;
    scanner->tools = (struct scan_tools){
        .store = store, .from = from, .watch = storage_watch_new(store->loop, on_changed, scanner)};
    scanner->first_until_ms =
        weir_now_ms() + (weir_fault("storage.scans.first") ? 0 : FIRST_SCANS_MS);
    scanner->rescan_timer = weir_loop_timer(store->loop, RESCAN_MS, RESCAN_MS, on_rescan, scanner);
    return scanner;
}

void storage_scanner_free(struct scanner *scanner)
{
    if (scanner == NULL)
        return;
    weir_loop_cancel(scanner->store->loop, scanner->rescan_timer);
    weir_loop_cancel(scanner->store->loop, scanner->again_timer);
    storage_watch_free(scanner->tools.watch);
    for (size_t i = 0; i < scanner->trouble_count; i++)
        free(scanner->troubles[i]);
    free(scanner->troubles);
    free(scanner);
}
