/* Rows from Postgres, sizes from the folder, pools and choices from memory. */
#include "selector/inventory.h"

#include "selector/retention.h"
#include "selector/sql/queries.h"
#include "selector/tasks/task.h"

#include <string.h>
#include <sys/stat.h>

/* 0 when it is not there. */
static uint64_t bytes_of(const struct selector *selector, const char *digest)
{
    struct stat found;
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s.set", selector->queue.data_dir, digest);
    return stat(path, &found) == 0 ? (uint64_t)found.st_size : 0;
}

static struct weir_strs texts_of(const struct weir_rows *rows, const char *column,
                                 struct weir_arena *arena)
{
    size_t count = weir_rows_count(rows);
    const char **texts = weir_arena_alloc(arena, count * sizeof(*texts));
    for (size_t i = 0; i < count; i++) {
        const char *text = weir_rows_text(rows, i, column);
        texts[i] = weir_arena_strndup(arena, text, strlen(text));
    }
    return (struct weir_strs){texts, count};
}

static struct weir_u64s numbers_of(const struct weir_rows *rows, const char *column,
                                   struct weir_arena *arena)
{
    size_t count = weir_rows_count(rows);
    uint64_t *numbers = weir_arena_alloc(arena, count * sizeof(*numbers));
    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint64_t)weir_rows_i64(rows, i, column);
    return (struct weir_u64s){numbers, count};
}

/* Those of triggers stay; others go `keep_us` after they were last asked for, if anybody has said how long. */
static struct weir_i64s expiries(const struct msg_sets_are *sets, int64_t keep_us,
                                 struct weir_arena *arena)
{
    size_t count = sets->triggers.count;
    int64_t *expires = weir_arena_alloc(arena, count * sizeof(*expires));
    for (size_t i = 0; i < count; i++) {
        bool stays = sets->triggers.at[i] > 0 || keep_us == 0;
        expires[i] = stays ? 0 : sets->sealed_us.at[i] + keep_us;
    }
    return (struct weir_i64s){expires, count};
}

static struct weir_u64s sizes(const struct selector *selector, struct weir_strs digests,
                              struct weir_arena *arena)
{
    uint64_t *bytes = weir_arena_alloc(arena, digests.count * sizeof(*bytes));
    for (size_t i = 0; i < digests.count; i++)
        bytes[i] = bytes_of(selector, digests.at[i]);
    return (struct weir_u64s){bytes, digests.count};
}

static void add_rows(const struct selector *selector, const struct weir_rows *rows,
                     struct weir_arena *arena, struct msg_sets_are *sets)
{
    struct weir_u64s sealed = numbers_of(rows, "sealed_us", arena);
    sets->total = sealed.count > 0 ? (uint64_t)weir_rows_i64(rows, 0, "total") : 0;
    sets->pipelines = texts_of(rows, "pipeline", arena);
    sets->triggers = numbers_of(rows, "trigger", arena);
    sets->digests = texts_of(rows, "digest", arena);
    sets->samples = numbers_of(rows, "samples", arena);
    sets->policies = texts_of(rows, "policy", arena);
    sets->shares = texts_of(rows, "components", arena);
    sets->seeds = numbers_of(rows, "seed", arena);
    sets->sealed_us = (struct weir_i64s){(const int64_t *)sealed.at, sealed.count};
    sets->expires_us =
        expiries(sets, selector_pipelines_keep_us(&selector->queue.pipelines), arena);
    sets->bytes = sizes(selector, sets->digests, arena);
}

static void add_pools(const struct selector *selector, const char *pipeline,
                      struct weir_arena *arena, struct msg_sets_are *sets)
{
    size_t count = 0;
    const char **names = weir_arena_alloc(arena, selector->queue.pipelines.count * sizeof(*names));
    uint64_t *bytes = weir_arena_alloc(arena, selector->queue.pipelines.count * sizeof(*bytes));
    for (size_t i = 0; i < selector->queue.pipelines.count; i++) {
        const struct selector_pipeline *one = selector->queue.pipelines.of[i];
        if (pipeline[0] != '\0' && !weir_str_equal(one->name, pipeline))
            continue;
        names[count] = one->name;
        bytes[count++] = selector_pool_bytes(&one->pool);
    }
    sets->pools = (struct weir_strs){names, count};
    sets->pool_bytes = (struct weir_u64s){bytes, count};
}

static void add_choices(const struct selector *selector, const char *pipeline,
                        struct weir_arena *arena, struct msg_sets_are *sets)
{
    size_t count = 0;
    const char **names = weir_arena_alloc(arena, SELECTOR_THREADS * sizeof(*names));
    uint64_t *triggers = weir_arena_alloc(arena, SELECTOR_THREADS * sizeof(*triggers));
    uint64_t *done = weir_arena_alloc(arena, SELECTOR_THREADS * sizeof(*done));
    uint64_t *total = weir_arena_alloc(arena, SELECTOR_THREADS * sizeof(*total));
    const struct selector_task *task;
    TAILQ_FOREACH (task, &selector->queue.tasks, link) {
        if (task->work == NULL ||
            (pipeline[0] != '\0' && !weir_str_equal(task->pipeline_name, pipeline)))
            continue;
        struct weir_work_progress progress = weir_work_progress(task->work);
        names[count] = task->pipeline_name;
        triggers[count] = task->kind == SELECTOR_SELECT ? task->asked.select.trigger : 0;
        done[count] = progress.done;
        total[count++] = progress.total;
    }
    sets->choosing = (struct weir_strs){names, count};
    sets->choosing_triggers = (struct weir_u64s){triggers, count};
    sets->choosing_done = (struct weir_u64s){done, count};
    sets->choosing_total = (struct weir_u64s){total, count};
}

enum weir_status selector_inventory(const struct selector *selector, const char *pipeline,
                                    struct weir_arena *arena, struct msg_sets_are *ret_sets,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct selector_swept folder = {0};
    struct msg_sets_are sets = {0};
    enum weir_status status = DB_RUN(selector->queue.db, Q_list_sealed, &rows, err,
                                     DB_TEXT(pipeline), DB_I64(SELECTOR_LISTED_MAX));
    if (status == WEIR_OK)
        status = selector_retention_survey(selector->queue.data_dir, &folder, err);
    if (status != WEIR_OK)
        return status;
    add_rows(selector, rows, arena, &sets);
    add_pools(selector, pipeline, arena, &sets);
    add_choices(selector, pipeline, arena, &sets);
    sets.files = folder.kept;
    sets.file_bytes = folder.kept_bytes;
    *ret_sets = sets;
    return WEIR_OK;
}
