/* The folder of the cache as a whole: see cache_segment.h. */
#include "core/wire/cache_segment.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum weir_status fail_reading(const char *folder, struct weir_error *err)
{
    return errno == ENOENT
               ? WEIR_OK
               : weir_fail(err, WEIR_IO, "%s: cannot be read: %s", folder, strerror(errno));
}

enum weir_status weir_cache_walk(const char *data_dir, weir_cache_visit_fn *visit, void *owner,
                                 struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/" WEIR_CACHE_FOLDER, data_dir);
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return fail_reading(folder, err);
    enum weir_status status = WEIR_OK;
    const struct dirent *entry = NULL;
    while (status == WEIR_OK && (entry = readdir(directory)) != NULL) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            status = visit(owner, path, weir_cache_is_segment(entry->d_name), err);
    }
    (void)closedir(directory);
    return status;
}

enum weir_status weir_cache_sync(const char *data_dir, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/" WEIR_CACHE_FOLDER, data_dir);
    WEIR_AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_reading(folder, err);
    return fsync(fd) == 0 ? WEIR_OK
                          : weir_fail(err, WEIR_IO, "%s: fsync: %s", folder, strerror(errno));
}

static enum weir_status remove_file(void *owner, const char *path, bool is_segment,
                                    struct weir_error *err)
{
    uint64_t *files = owner;
    (void)is_segment;
    (*files)++;
    return weir_remove_tree(path, err);
}

enum weir_status weir_cache_drop(const char *data_dir, uint64_t *ret_files, struct weir_error *err)
{
    *ret_files = 0;
    enum weir_status status = weir_cache_walk(data_dir, remove_file, ret_files, err);
    return status == WEIR_OK ? weir_cache_sync(data_dir, err) : status;
}

static void note_use(struct weir_cache_survey *survey, int64_t used_us)
{
    if (survey->oldest_use_us == 0 || used_us < survey->oldest_use_us)
        survey->oldest_use_us = used_us;
    if (used_us > survey->newest_use_us)
        survey->newest_use_us = used_us;
}

static struct weir_cache_kind *kind_of(struct weir_cache_survey *survey, uint64_t key)
{
    for (size_t i = 0; i < survey->kind_count; i++) {
        if (survey->kinds[i].key == key)
            return &survey->kinds[i];
    }
    survey->kinds = weir_grow(survey->kinds, survey->kind_count, &survey->kind_capacity,
                              sizeof(*survey->kinds));
    survey->kinds[survey->kind_count] = (struct weir_cache_kind){.key = key};
    return &survey->kinds[survey->kind_count++];
}

static void note_rows(struct weir_cache_survey *survey, const struct weir_cache_segment *segment,
                      int64_t used_us)
{
    for (size_t i = 0; i < segment->count; i++) {
        struct weir_cache_segment_entry entry = weir_cache_entry_at(segment->table, i);
        struct weir_cache_kind *kind = kind_of(survey, entry.key);
        kind->rows++;
        kind->bytes += entry.stored;
        if (used_us > kind->newest_use_us)
            kind->newest_use_us = used_us;
    }
}

static void note_segment(struct weir_cache_survey *survey, const struct weir_cache_segment *segment)
{
    struct stat about;
    int64_t used_us = fstat(segment->fd, &about) == 0 ? weir_mtime_us(&about) : 0;
    survey->segments++;
    survey->rows += segment->count;
    survey->bytes += segment->bytes;
    note_use(survey, used_us);
    note_rows(survey, segment, used_us);
}

static enum weir_status survey_file(void *owner, const char *path, bool is_segment,
                                    struct weir_error *err)
{
    struct weir_cache_survey *survey = owner;
    struct weir_cache_segment segment;
    if (!is_segment) {
        survey->drafts++;
        return WEIR_OK;
    }
    enum weir_status status = weir_cache_segment_open(path, false, &segment, err);
    survey->damaged += status == WEIR_CORRUPT;
    if (status != WEIR_OK) /* evicted meanwhile, or damaged */
        return status == WEIR_IO ? status : WEIR_OK;
    note_segment(survey, &segment);
    weir_cache_segment_close(&segment);
    return WEIR_OK;
}

enum weir_status weir_cache_survey(const char *data_dir, struct weir_cache_survey *ret_survey,
                                   struct weir_error *err)
{
    *ret_survey = (struct weir_cache_survey){0};
    return weir_cache_walk(data_dir, survey_file, ret_survey, err);
}

void weir_cache_survey_fini(struct weir_cache_survey *survey)
{
    free(survey->kinds);
    *survey = (struct weir_cache_survey){0};
}
