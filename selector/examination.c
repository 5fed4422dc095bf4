/* A walk over rows, then over the folder of sets for those that no row of the selector names: sets of scorings, windows
 * and holdouts, which runs may still need. */
#include "selector/examination.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "selector/retention.h"
#include "selector/scores/scores_file.h"
#include "selector/sql/queries.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_MS = 50, FINDINGS_MAX = 1000, STRAYS_MAX = 100000 };

/* Columns of the answer. */
enum { CHECK, FOUND, EXPECTED, ADVICE, TEXTS };

static const char SETS_ADVICE[] =
    "restore the file from a backup: without it no model can be trained on this set again, and an "
    "erasure that needs one waits";
static const char SCORES_ADVICE[] =
    "restore the file from a backup: without it sets cannot be chosen by these scores, and an "
    "erasure that has to drop scores waits";

struct selector_examination {
    uint64_t session;
    const char *data_dir;     /* borrowed */
    struct weir_rows *sets;   /* digests, ascending */
    struct weir_rows *scores; /* Q_list_kept_scores */
    struct weir_arena *arena; /* of texts */
    const char **strays;      /* names in the folder of sets that are not among `sets` */
    size_t stray_count, stray_capacity;
    size_t phase, at;
    const char *texts[TEXTS][FINDINGS_MAX];
    struct msg_owned_examined found;
};

static void say(struct selector_examination *examination, const char *const said[TEXTS])
{
    size_t count = examination->found.checks.count;
    if (count == FINDINGS_MAX) {
        examination->found.unlisted++;
        return;
    }
    for (size_t k = 0; k < TEXTS; k++)
        examination->texts[k][count] =
            weir_arena_strndup(examination->arena, said[k], strlen(said[k]));
    examination->found.checks = (struct weir_strs){examination->texts[CHECK], count + 1};
    examination->found.found = (struct weir_strs){examination->texts[FOUND], count + 1};
    examination->found.expected = (struct weir_strs){examination->texts[EXPECTED], count + 1};
    examination->found.advice = (struct weir_strs){examination->texts[ADVICE], count + 1};
}

/* ---- sets ---- */

/* NOT_FOUND when the file is gone; CORRUPT when it is not the set that it is named by. */
static enum weir_status check_set(const struct selector_examination *examination,
                                  const char *digest, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s.set", examination->data_dir, digest);
    char actual[WEIR_DIGEST_TEXT_MAX];
    struct weir_sample_set set = {0};
    enum weir_status status = weir_sample_set_open(path, &set, err);
    if (status != WEIR_OK)
        return status;
    weir_digest_text(&set.digest, actual);
    weir_sample_set_close(&set);
    return strcmp(actual, digest) == 0
               ? WEIR_OK
               : weir_fail(err, WEIR_CORRUPT, "sample set %s: its digest is %s", path, actual);
}

static void note_set(struct selector_examination *examination, const char *digest,
                     enum weir_status status, const struct weir_error *err)
{
    if (status == WEIR_OK) {
        examination->found.sets++;
        return;
    }
    const char *expected = weir_arena_format(examination->arena, "the sealed set %s", digest);
    say(examination, (const char *const[TEXTS]){"sets", err->text, expected, SETS_ADVICE});
}

/* A set may have been let go meanwhile, its row first. */
static enum weir_status examine_set(struct selector_examination *examination, struct weir_db *db,
                                    struct weir_error *err)
{
    const char *digest = weir_rows_text(examination->sets, examination->at, "name");
    struct weir_error found;
    enum weir_status status = check_set(examination, digest, &found);
    if (status != WEIR_OK) {
        WEIR_AUTO(weir_rows) still = NULL;
        enum weir_status asked = DB_RUN(db, Q_is_sealed, &still, err, DB_TEXT(digest));
        if (asked != WEIR_OK || weir_rows_count(still) == 0)
            return asked;
    }
    note_set(examination, digest, status, &found);
    return WEIR_OK;
}

static enum weir_status examine_stray(struct selector_examination *examination, struct weir_db *db,
                                      struct weir_error *err)
{
    const char *digest = examination->strays[examination->at];
    struct weir_error found;
    (void)db;
    (void)err;
    enum weir_status status = check_set(examination, digest, &found);
    if (status != WEIR_NOT_FOUND) /* nobody promised to keep it */
        note_set(examination, digest, status, &found);
    return WEIR_OK;
}

/* ---- scores ---- */

/* A file may hold less than its row says: the row of a purge follows its file. */
static enum weir_status check_scores(const struct selector_examination *examination,
                                     const struct selector_scores_store *store,
                                     const struct weir_rows *row, struct weir_error *err)
{
    const char *name = weir_rows_text(examination->scores, examination->at, "name");
    size_t samples = (size_t)weir_rows_i64(row, 0, "samples");
    size_t unscored = (size_t)weir_rows_i64(row, 0, "unscored");
    struct scores_file file = {0};
    enum weir_status status = selector_scores_file_open(store, name, &file, err);
    if (status != WEIR_OK)
        return status;
    if (file.outputs.count > samples || file.unscored.count > unscored)
        status = weir_fail(err, WEIR_CORRUPT,
                           "scores %s: the files speak of %zu samples and %zu without a score, "
                           "expected at most %zu and %zu",
                           name, file.outputs.count, file.unscored.count, samples, unscored);
    else if (file.unscored.map == NULL && unscored > 0)
        status = weir_fail(err, WEIR_NOT_FOUND,
                           "%s/scores/%s.unscored is missing: %zu samples without a score",
                           examination->data_dir, name, unscored);
    selector_scores_file_close(&file);
    return status;
}

static enum weir_status examine_scores(struct selector_examination *examination, struct weir_db *db,
                                       struct weir_error *err)
{
    const char *name = weir_rows_text(examination->scores, examination->at, "name");
    const struct selector_scores_store store = {.db = db, .data_dir = examination->data_dir};
    WEIR_AUTO(weir_rows) row = NULL;
    struct weir_error found;
    enum weir_status status = DB_RUN(db, Q_find_kept_scores, &row, err, DB_TEXT(name));
    if (status != WEIR_OK || weir_rows_count(row) == 0) /* let go meanwhile */
        return status;
    if (check_scores(examination, &store, row, &found) == WEIR_OK) {
        examination->found.scores++;
        return WEIR_OK;
    }
    const char *expected =
        weir_arena_format(examination->arena, "scores of %lld samples, with their checksum",
                          (long long)weir_rows_i64(row, 0, "samples"));
    say(examination, (const char *const[TEXTS]){"scores", found.text, expected, SCORES_ADVICE});
    return WEIR_OK;
}

/* ---- course ---- */

static size_t sets_of(const struct selector_examination *examination)
{
    return weir_rows_count(examination->sets);
}

static size_t strays_of(const struct selector_examination *examination)
{
    return examination->stray_count;
}

static size_t scores_of(const struct selector_examination *examination)
{
    return weir_rows_count(examination->scores);
}

static const struct {
    size_t (*count)(const struct selector_examination *examination);
    enum weir_status (*examine)(struct selector_examination *examination, struct weir_db *db,
                                struct weir_error *err);
} PHASES[] = {{sets_of, examine_set}, {strays_of, examine_stray}, {scores_of, examine_scores}};

/* False with the last one. */
static bool advance(struct selector_examination *examination)
{
    while (examination->phase < WEIR_COUNT(PHASES) &&
           examination->at == PHASES[examination->phase].count(examination)) {
        examination->phase++;
        examination->at = 0;
    }
    return examination->phase < WEIR_COUNT(PHASES);
}

enum weir_status selector_examination_step(struct selector_examination *examination,
                                           struct weir_db *db, struct msg_owned_examined *ret_found,
                                           struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    int64_t until_ms = weir_now_ms() + STEP_MS;
    while (status == WEIR_OK && advance(examination) && weir_now_ms() < until_ms) {
        status = PHASES[examination->phase].examine(examination, db, err);
        examination->at += status == WEIR_OK;
    }
    if (status != WEIR_OK)
        return status;
    examination->found.done = !advance(examination);
    *ret_found = examination->found;
    return WEIR_OK;
}

/* ---- life ---- */

static void list_strays(struct selector_examination *examination)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/sets", examination->data_dir);
    char digest[WEIR_DIGEST_TEXT_MAX];
    DIR *folder = opendir(path); /* not there: nor are the sets that rows name, which is said */
    for (const struct dirent *entry; folder != NULL && examination->stray_count < STRAYS_MAX &&
                                     (entry = readdir(folder)) != NULL;) {
        if (selector_retention_set_digest(entry->d_name, digest) == NULL ||
            selector_retention_is_named(examination->sets, digest))
            continue;
        examination->strays = weir_grow(examination->strays, examination->stray_count,
                                        &examination->stray_capacity, sizeof(*examination->strays));
        examination->strays[examination->stray_count++] =
            weir_arena_strndup(examination->arena, digest, strlen(digest));
    }
    if (folder != NULL)
        closedir(folder);
}

enum weir_status selector_examination_begin(struct weir_db *db, const char *data_dir,
                                            uint64_t session,
                                            struct selector_examination **ret_examination,
                                            struct weir_error *err)
{
    struct selector_examination *examination = weir_calloc(1, sizeof(*examination));
    examination->session = session;
    examination->data_dir = data_dir;
    examination->arena = weir_arena_new();
    enum weir_status status = DB_RUN(db, Q_list_digests, &examination->sets, err);
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_list_kept_scores, &examination->scores, err);
    if (status != WEIR_OK) {
        selector_examination_free(examination);
        return status;
    }
    list_strays(examination);
    *ret_examination = examination;
    return WEIR_OK;
}

void selector_examination_free(struct selector_examination *examination)
{
    if (examination == NULL)
        return;
    weir_rows_free(examination->sets);
    weir_rows_free(examination->scores);
    weir_arena_free(examination->arena);
    free(examination->strays);
    free(examination);
}

uint64_t selector_examination_session(const struct selector_examination *examination)
{
    return examination->session;
}
