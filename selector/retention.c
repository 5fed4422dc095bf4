/* A walk over the folders of sets and scores, against the digests that rows name. */
#include "selector/retention.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "selector/sql/queries.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const SETS[] = {".set", NULL};
/* The last one is of earlier versions. */
static const char *const SCORES[] = {".scores", ".unscored", ".outputs", NULL};

struct sweep {
    const char *folder;
    const char *const *endings;
    struct weir_rows *named; /* digests, ascending */
    int64_t before_us;
    bool at_start;
    struct selector_swept swept;
};

bool selector_retention_is_named(const struct weir_rows *named, const char *digest)
{
    size_t low = 0, high = weir_rows_count(named);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(weir_rows_text(named, middle, "name"), digest);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool is_digest(const char *name, const char *const *endings)
{
    size_t size = WEIR_DIGEST_TEXT_MAX - 1;
    if (strspn(name, "0123456789abcdef") != size)
        return false;
    while (*endings != NULL && !weir_str_equal(name + size, *endings))
        endings++;
    return *endings != NULL;
}

const char *selector_retention_set_digest(const char *name, char digest[WEIR_DIGEST_TEXT_MAX])
{
    if (!is_digest(name, SETS))
        return NULL;
    memcpy(digest, name, WEIR_DIGEST_TEXT_MAX - 1);
    digest[WEIR_DIGEST_TEXT_MAX - 1] = '\0';
    return digest;
}

static bool is_left_behind(const char *name)
{
    return strncmp(name, "sealing.", strlen("sealing.")) == 0;
}

static bool may_go(const struct sweep *sweep, const char *name, const struct stat *stat)
{
    char digest[WEIR_DIGEST_TEXT_MAX] = "";
    if (is_left_behind(name))
        return sweep->at_start;
    if (!is_digest(name, sweep->endings)) /* not ours */
        return false;
    memcpy(digest, name, sizeof(digest) - 1);
    return weir_mtime_us(stat) < sweep->before_us &&
           !selector_retention_is_named(sweep->named, digest);
}

static enum weir_status look_at(struct sweep *sweep, const char *name, struct weir_error *err)
{
    struct stat stat;
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", sweep->folder, name);
    if (lstat(path, &stat) != 0 || !S_ISREG(stat.st_mode))
        return WEIR_OK;
    if (!may_go(sweep, name, &stat)) {
        sweep->swept.kept++;
        sweep->swept.kept_bytes += (uint64_t)stat.st_size;
        return WEIR_OK;
    }
    if (weir_fault("selector.sweep"))
        return weir_fail(err, WEIR_UNAVAILABLE, "fault selector.sweep");
    if (unlink(path) != 0)
        return weir_fail(err, WEIR_IO, "cannot remove %s: %s", path, strerror(errno));
    sweep->swept.removed++;
    sweep->swept.removed_bytes += (uint64_t)stat.st_size;
    return WEIR_OK;
}

static enum weir_status walk(struct sweep *sweep, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    DIR *folder = opendir(sweep->folder);
    if (folder == NULL && errno == ENOENT)
        return WEIR_OK;
    if (folder == NULL)
        return weir_fail(err, WEIR_IO, "cannot read %s: %s", sweep->folder, strerror(errno));
    for (struct dirent *entry; status == WEIR_OK && (entry = readdir(folder)) != NULL;)
        status = look_at(sweep, entry->d_name, err);
    closedir(folder);
    return status;
}

enum weir_status selector_retention_sweep(struct weir_db *db, const char *data_dir,
                                          int64_t before_us, bool at_start,
                                          struct selector_swept *ret_swept, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/sets", data_dir);
    struct sweep sweep = {
        .folder = folder, .endings = SETS, .before_us = before_us, .at_start = at_start};
    enum weir_status status = DB_RUN(db, Q_drop_intervals, NULL, err, DB_I64(before_us));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_list_digests, &sweep.named, err);
    if (status == WEIR_OK)
        status = walk(&sweep, err);
    weir_rows_free(sweep.named);
    *ret_swept = sweep.swept;
    return status;
}

enum weir_status selector_retention_drop_scores(struct weir_db *db, const char *pipeline,
                                                int64_t before_us, struct weir_error *err)
{
    return DB_RUN(db, Q_drop_scores, NULL, err, DB_TEXT(pipeline), DB_I64(before_us));
}

enum weir_status selector_retention_sweep_scores(struct weir_db *db, const char *data_dir,
                                                 struct selector_swept *ret_swept,
                                                 struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/scores", data_dir);
    struct sweep sweep = {.folder = folder, .endings = SCORES, .before_us = INT64_MAX};
    enum weir_status status = DB_RUN(db, Q_list_score_names, &sweep.named, err);
    if (status == WEIR_OK)
        status = walk(&sweep, err);
    weir_rows_free(sweep.named);
    *ret_swept = sweep.swept;
    return status;
}

/* Removes the sets that were this pipeline's and belong to no other now. */
static enum weir_status sweep_own(struct weir_db *db, const char *data_dir,
                                  const struct weir_rows *own, struct selector_swept *ret_swept,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/sets", data_dir);
    struct sweep sweep = {.folder = folder, .endings = SETS, .before_us = INT64_MAX};
    enum weir_status status = DB_RUN(db, Q_list_digests, &sweep.named, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(own); i++) {
        WEIR_AUTO_FREE char *name = weir_format("%s.set", weir_rows_text(own, i, "digest"));
        status = look_at(&sweep, name, err);
    }
    weir_rows_free(sweep.named);
    *ret_swept = sweep.swept;
    return status;
}

enum weir_status selector_retention_forget(struct weir_db *db, const char *data_dir,
                                           const char *pipeline, bool is_quiet,
                                           struct selector_swept *ret_swept, struct weir_error *err)
{
    struct selector_swept scores;
    WEIR_AUTO(weir_rows) own = NULL;
    *ret_swept = (struct selector_swept){0};
    enum weir_status status = DB_RUN(db, Q_list_own_digests, &own, err, DB_TEXT(pipeline));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_drop_pipeline, NULL, err, DB_TEXT(pipeline));
    if (status == WEIR_OK && is_quiet)
        status = sweep_own(db, data_dir, own, ret_swept, err);
    return status == WEIR_OK && is_quiet
               ? selector_retention_sweep_scores(db, data_dir, &scores, err)
               : status;
}

enum weir_status selector_retention_survey(const char *data_dir, struct selector_swept *ret_swept,
                                           struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/sets", data_dir);
    struct sweep sweep = {.folder = folder, .endings = SETS};
    sweep.before_us = INT64_MIN; /* nothing is so old */
    enum weir_status status = walk(&sweep, err);
    *ret_swept = sweep.swept;
    return status;
}
