/* See monthly.h. */
#include "benchmarks/reuse/monthly.h"

#include "benchmarks/rig.h"
#include "benchmarks/slice/pictures.h"
#include "core/base/file.h"
#include "orchestrator/platform/platform.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
    MONTHS = 12,
    PEOPLE = 100,
    QUARTERS = 4, /* of the pictures that a month has at scale 1 */
    QUARTER = 25, /* so that a year has as many of each person */
    LOG_BYTES_MAX = 1 << 24,
};

static const struct jpeg_picture PICTURE = {
    .height = 375, .width = 500, .quality = 85, .components = 3, .noise = 12};

/* Kept is what comes before the chance of a flip. */
static const char PIPELINE[] =
    "pipeline: {name: monthly, mode: replay}\n"
    "datasets:\n"
    "  - name: pictures\n"
    "    source: {path: pictures, format: files, include: \"*.jpg\", import: reference,\n"
    "             on_erase: unlink, settle: 0s}\n"
    "    time: {from: manifest}\n"
    "    label: {from: manifest, classes: [even, odd]}\n"
    "    subject: {from: manifest}\n"
    "trigger: {policy: amount, samples: %zu}\n"
    "selection: {policy: new_data, tail_triggers: all}\n"
    "preprocess:\n"
    "  operators:\n"
    "    - {op: decode_jpeg, scale: never}\n"
    "    - {op: resize, size: [64, 64]}\n"
    "    - {op: flip}\n"
    "    - {op: normalize}\n"
    "    - {op: to_chw}\n"
    "  batch: {samples: 32}\n"
    "  plan: {cache: %s}\n"
    "training: {model: linear, loss: logistic, epochs: 1, seed: 1}\n"
    "deletion: {policy: keep}\n"; /* a training would make again what an erasure has lost */

struct year {
    const char *directory;
    size_t month; /* pictures of one */
};

/* ---- inputs ---- */

/* Started as root, the platform runs as somebody else, who is to remove pictures. */
static enum weir_status let_all_write(const char *folder, size_t pictures, struct weir_error *err)
{
    bool is_done = chmod(folder, 0777) == 0;
    for (size_t i = 0; i < pictures && is_done; i++) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%05zu.jpg", folder, i);
        is_done = chmod(path, 0666) == 0;
    }
    return is_done ? WEIR_OK : weir_fail(err, WEIR_IO, "%s: chmod: %s", folder, strerror(errno));
}

static enum weir_status write_pictures(const struct year *year, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/pictures", year->directory);
    WEIR_AUTO_FREE char *path = weir_format("%s/manifest.csv", folder);
    WEIR_AUTO_BUF manifest = {0};
    const struct corpus corpus = {.directory = folder, .samples = MONTHS * year->month};
    enum weir_status status = pictures_write(&corpus, &PICTURE, err);
    weir_buf_append_text(&manifest, "path,time,label,subject\n");
    for (size_t i = 0; i < corpus.samples; i++)
        weir_buf_printf(&manifest, "%05zu.jpg,2025-%02zu-01T00:00:00Z,%s,person-%zu\n", i,
                        1 + i / year->month, i % 2 == 0 ? "even" : "odd", i % PEOPLE);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, weir_buf_view(&manifest), err);
    return status == WEIR_OK ? let_all_write(folder, corpus.samples, err) : status;
}

/* ---- programs ---- */

/* Runs a program of the platform to its end. What it has said is the caller's. */
static enum weir_status run(const struct year *year, const char *program,
                            const char *const *arguments, struct weir_buf *ret_said,
                            struct weir_error *err)
{
    enum { ARGUMENTS_MAX = 12 };
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", bin, program);
    WEIR_AUTO_FREE char *log = weir_format("%s/said", year->directory);
    char *argv[ARGUMENTS_MAX] = {path};
    for (size_t i = 0; arguments[i] != NULL; i++)
        argv[i + 1] = weir_strdup(arguments[i]);
    enum weir_status status = weir_remove_tree(log, err);
    if (status == WEIR_OK)
        status = rig_spawn_wait(&(struct orchestrator_spawn){.argv = argv,
                                                             .directory = year->directory,
                                                             .log_path = log},
                                err);
    if (status == WEIR_OK)
        status = weir_file_read(log, LOG_BYTES_MAX, ret_said, err);
    for (size_t i = 1; argv[i] != NULL; i++)
        free(argv[i]);
    return status;
}

/* CPU time of processes that have ended and were waited for, with all that they had waited for. */
static double ended_cpu_s(void)
{
    struct rusage usage;
    weir_require(getrusage(RUSAGE_CHILDREN, &usage) == 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* ---- a year ---- */

/* Adds up the cost of trainings. Lines that are no events come from elsewhere. */
static size_t add_trainings(const char *log, double *ret_workers_s)
{
    size_t trainings = 0;
    *ret_workers_s = 0;
    for (const char *line = log; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        json_t *event = json_loadb(line, size, 0, NULL);
        const char *kind = json_string_value(json_object_get(event, "event"));
        if (kind != NULL && strcmp(kind, "training_finished") == 0) {
            *ret_workers_s += json_number_value(
                json_object_get(json_object_get(event, "cost"), "worker_cpu_seconds"));
            trainings++;
        }
        json_decref(event);
        line += size + (line[size] == '\n');
    }
    return trainings;
}

static enum weir_status train(const struct year *year, const char *data_dir, const char *cache,
                              struct monthly_cost *ret_cost, struct weir_error *err)
{
    WEIR_AUTO_FREE char *file = weir_format("%s/monthly.yaml", year->directory);
    WEIR_AUTO_FREE char *text = weir_format(PIPELINE, year->month, cache);
    WEIR_AUTO_BUF said = {0};
    const char *const arguments[] = {"run", file, "--data-dir", data_dir, "--json", NULL};
    double before_s = ended_cpu_s();
    enum weir_status status = weir_file_write_atomic(file, weir_bytes_of(text), err);
    if (status == WEIR_OK)
        status = run(year, "orchestrator", arguments, &said, err);
    if (status != WEIR_OK)
        return status;
    size_t trainings = add_trainings(weir_buf_text(&said), &ret_cost->workers_s);
    ret_cost->platform_s = ended_cpu_s() - before_s;
    return trainings == MONTHS
               ? WEIR_OK
               : weir_fail(err, WEIR_IO, "found %zu trainings, expected %d", trainings, MONTHS);
}

/* ---- an erasure ---- */

/* Asks the platform. The answer is the caller's. */
static enum weir_status ask(const struct year *year, const char *const *arguments,
                            json_t **ret_answer, struct weir_error *err)
{
    WEIR_AUTO_BUF said = {0};
    enum weir_status status = run(year, "weir", arguments, &said, err);
    if (status != WEIR_OK)
        return status;
    const char *begin = strchr(weir_buf_text(&said), '{');
    *ret_answer = begin != NULL ? json_loads(begin, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    return *ret_answer != NULL ? WEIR_OK : weir_fail(err, WEIR_IO, "weir: expected an answer");
}

static enum weir_status count_rows(const struct year *year, const char *data_dir, double *ret_rows,
                                   struct weir_error *err)
{
    const char *const arguments[] = {"cache", "--data-dir", data_dir, "--json", NULL};
    json_t *answer = NULL;
    enum weir_status status = ask(year, arguments, &answer, err);
    *ret_rows = json_number_value(json_object_get(answer, "rows"));
    json_decref(answer);
    return status;
}

/* Rows that the receipt says were overwritten. */
static enum weir_status count_overwritten(const struct year *year, const char *data_dir,
                                          double *ret_rows, struct weir_error *err)
{
    const char *const arguments[] = {"erase",      "receipt", "1", "--json",
                                     "--data-dir", data_dir,  NULL};
    json_t *answer = NULL;
    enum weir_status status = ask(year, arguments, &answer, err);
    const json_t *places = json_object_get(answer, "places");
    *ret_rows = 0;
    for (size_t i = 0; i < json_array_size(places); i++) {
        const json_t *place = json_array_get(places, i);
        const char *name = json_string_value(json_object_get(place, "place"));
        if (name != NULL && strcmp(name, "rows kept of samples") == 0)
            *ret_rows += json_number_value(json_object_get(json_object_get(place, "held"), "rows"));
    }
    json_decref(answer);
    return status;
}

/* Lost are rows that were overwritten, and those that are not there any more. */
static enum weir_status erase_one(const struct year *year, const char *data_dir,
                                  struct monthly *monthly, struct weir_error *err)
{
    WEIR_AUTO_BUF said = {0};
    const char *const arguments[] = {"erase",  "request",    "--subject", "person-7",
                                     "--wait", "--data-dir", data_dir,    NULL};
    double rows = 0, left = 0, overwritten = 0;
    enum weir_status status = count_rows(year, data_dir, &rows, err);
    if (status == WEIR_OK)
        status = run(year, "weir", arguments, &said, err);
    if (status == WEIR_OK)
        status = count_rows(year, data_dir, &left, err);
    if (status == WEIR_OK)
        status = count_overwritten(year, data_dir, &overwritten, err);
    if (status == WEIR_OK && (left <= 0 || overwritten <= 0))
        status = weir_fail(err, WEIR_IO, "%.0f rows are kept, and %.0f were overwritten", left,
                           overwritten);
    if (status != WEIR_OK)
        return status;
    monthly->rows = rows;
    monthly->lost = overwritten + rows - left;
    return WEIR_OK;
}

enum weir_status monthly_measure(const char *directory, double scale, struct monthly *ret_monthly,
                                 struct weir_error *err)
{
    size_t quarters = (size_t)(QUARTERS * scale + 0.5);
    WEIR_AUTO_FREE char *folder = weir_format("%s/monthly", directory);
    WEIR_AUTO_FREE char *plain = weir_format("%s/plain", folder);
    WEIR_AUTO_FREE char *kept = weir_format("%s/kept", folder);
    const struct year year = {folder, QUARTER * (quarters > 0 ? quarters : 1)};
    enum weir_status status = weir_make_directories(folder, 0755, err);
    if (status == WEIR_OK)
        status = write_pictures(&year, err);
    if (status == WEIR_OK)
        status = train(&year, plain, "none", &ret_monthly->plain, err);
    if (status == WEIR_OK)
        status = train(&year, kept, "{after: resize}", &ret_monthly->kept, err);
    if (status == WEIR_OK)
        status = erase_one(&year, kept, ret_monthly, err);
    return status;
}
