/* The files of an answer: see serve.h. */
#include "storage/reading/serve.h"

#include "core/base/memory.h"

static const char *path_of(const struct answer_file *found, struct weir_arena *arena)
{
    const struct dataset *dataset = found->dataset;

    if (dataset->declaration->is_remote || found->file->state != FILE_LIVE)
        return "";
    return weir_arena_format(arena, "%s/%s",
                             dataset->declaration->is_copied ? dataset->copies : dataset->root,
                             found->file->path);
}

struct answer_files storage_answer_files(const struct answer_file *found, size_t count,
                                         struct weir_arena *arena)
{
    const char **paths = weir_arena_alloc(arena, count * sizeof(*paths) + 1);
    uint64_t *layouts = weir_arena_alloc(arena, count * sizeof(*layouts) + 1);
    uint64_t *devices = weir_arena_alloc(arena, count * sizeof(*devices) + 1);
    uint64_t *inodes = weir_arena_alloc(arena, count * sizeof(*inodes) + 1);
    uint64_t *sizes = weir_arena_alloc(arena, count * sizeof(*sizes) + 1);
    int64_t *mtimes = weir_arena_alloc(arena, count * sizeof(*mtimes) + 1);

    for (size_t i = 0; i < count; i++) {
        const struct stored_file *file = found[i].file;

        paths[i] = path_of(&found[i], arena);
        layouts[i] = file->layout;
        devices[i] = file->device;
        inodes[i] = file->inode;
        sizes[i] = file->size;
        mtimes[i] = file->mtime_ns;
    }
    return (struct answer_files){
        .paths = {paths, count},
        .layouts = {layouts, count},
        .devices = {devices, count},
        .inodes = {inodes, count},
        .sizes = {sizes, count},
        .mtimes = {mtimes, count},
    };
}
