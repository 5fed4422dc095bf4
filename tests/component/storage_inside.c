/* See storage_inside.h. */
#include "tests/component/storage_inside.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/reading/serve.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void storage_inside_open(struct storage_inside *inside)
{
    const struct weir_service_options options = {
        .data_dir = inside->dir.path, .postgres = inside->postgres.conninfo, .log_level = "warn"};
    struct weir_error err;
    void *storage;

    weir_require(storage_open(&options, inside->loop, NULL, &storage, &err) == WEIR_OK);
    inside->storage = storage;
}

void storage_inside_begin(struct storage_inside *inside)
{
    struct weir_error err;

    weir_test_postgres_start(&inside->postgres);
    temp_dir_make(&inside->dir);
    weir_require(weir_make_directories(temp_path(&inside->dir, "source"), 0700, &err) == WEIR_OK);
    inside->loop = weir_loop_new();
    inside->arena = weir_arena_new();
    storage_inside_open(inside);
}

void storage_inside_end(struct storage_inside *inside)
{
    storage_close(inside->storage);
    weir_loop_free(inside->loop);
    weir_arena_free(inside->arena);
    temp_dir_remove(&inside->dir);
    weir_test_postgres_stop(&inside->postgres);
}

int storage_inside_teardown(void **state)
{
    storage_inside_end(*state);
    free(*state);
    return 0;
}

void storage_inside_write(struct storage_inside *inside, const char *name, const char *text)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/source/%s", inside->dir.path, name);
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    weir_require(fd >= 0);
    weir_require(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

struct dataset *storage_inside_declare(struct storage_inside *inside, const char *yaml)
{
    WEIR_AUTO_BUF text = {0};
    struct msg_dataset_declare declare = {.file = "p.yaml"};
    struct msg_dataset_declared answer;
    struct weir_error err;
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    const char *mark = strstr(yaml, "%s");
    struct dataset *dataset;

    weir_buf_append_text(&text, "datasets:\n");
    weir_buf_append(&text, yaml, (size_t)(mark - yaml));
    weir_buf_printf(&text, "%s/source%s", inside->dir.path, mark + 2);
    declare.config = weir_buf_view(&text);
    weir_require(storage_declare(inside->storage, &declare, inside->arena, &answer, &err) ==
                 WEIR_OK);
    dataset = inside->storage->store.catalog->datasets[inside->storage->store.catalog->count - 1];
    while (!dataset->is_scanned) {
        weir_require(weir_now_ms() < limit_ms);
        weir_loop_step(inside->loop, TEST_STEP_MS);
    }
    return dataset;
}

struct msg_erase_accepted storage_inside_erase(struct storage_inside *inside,
                                               const struct msg_erase_accept *asked)
{
    struct erase_acceptance one = {.asked = asked, .arena = inside->arena};
    struct erase_acceptance *const all[] = {&one};
    struct weir_error err;

    weir_require(storage_ready(&inside->storage->store, &err) == WEIR_OK);
    weir_require(storage_erase_accept_all(&inside->storage->eraser, all, 1, &err) == WEIR_OK);
    weir_require(one.status == WEIR_OK);
    return one.answer;
}
