/* Figures about models that are stored as the difference from another one: 500 MB of weights like those of a trained
 * network, and the same after each was moved a little. Synthetic, as the names say. */
#include "benchmarks/orchestrator/bench.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/model_file.h"
#include "orchestrator/models/delta.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

enum { ROWS = 1 << 20, WIDTH = 125, ZSTD_LEVEL = 3 };
static const size_t MODEL_BYTES_MAX = (size_t)1 << 30;

/* ---- two models ---- */

static double normal(struct weir_rng *rng)
{
    double radius = sqrt(-2 * log(1 - weir_rng_unit(rng)));
    return radius * cos(6.283185307179586 * weir_rng_unit(rng));
}

static char *path_of(const struct orchestrator_bench *bench, const char *name)
{
    return weir_format("%s/%s", bench->directory, name);
}

static enum weir_status write_model(const struct orchestrator_bench *bench, const char *name,
                                    size_t rows, const float *parameters, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = path_of(bench, name);
    struct weir_model_file file = {.model = "linear",
                                   .options = "",
                                   .loss = "softmax",
                                   .optimizer = "sgd",
                                   .rows = rows,
                                   .width = WIDTH,
                                   .parameters = parameters};
    return weir_model_file_write(path, &file, err);
}

enum weir_status prepare_models(void *state, struct weir_error *err)
{
    struct orchestrator_bench *bench = state;
    if (bench->has_models)
        return WEIR_OK;
    bench->has_models = true;
    size_t rows = (size_t)(ROWS * bench->scale) + 1;
    WEIR_AUTO_FREE float *parameters = weir_calloc(rows * WIDTH, sizeof(*parameters));
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    for (size_t i = 0; i < rows * WIDTH; i++)
        parameters[i] = (float)(0.02 * normal(&rng));
    enum weir_status status = write_model(bench, "base", rows, parameters, err);
    for (size_t i = 0; i < rows * WIDTH; i++)
        parameters[i] += (float)(0.0001 * normal(&rng));
    return status == WEIR_OK ? write_model(bench, "model", rows, parameters, err) : status;
}

/* ---- files ---- */

struct mapping {
    void *at;
    size_t size;
};

static enum weir_status map(const struct orchestrator_bench *bench, const char *name,
                            struct mapping *ret_mapping, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = path_of(bench, name);
    return weir_file_map(path, &ret_mapping->at, &ret_mapping->size, err);
}

static struct weir_bytes view(const struct mapping *mapping)
{
    return weir_bytes(mapping->at, mapping->size);
}

/* Drops a file from the page cache, so that the next read comes from the disk. */
static enum weir_status forget(const struct orchestrator_bench *bench, const char *name,
                               struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = path_of(bench, name);
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        return weir_fail(err, WEIR_IO, "%s: cannot be put out of memory", path);
    return WEIR_OK;
}

static enum weir_status remember(const struct orchestrator_bench *bench, const char *name,
                                 struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = path_of(bench, name);
    WEIR_AUTO_BUF bytes = {0};
    return weir_file_read(path, MODEL_BYTES_MAX, &bytes, err);
}

static double rate(size_t bytes, int64_t since_ns)
{
    return (double)bytes * 1e9 / (double)(weir_now_ns() - since_ns);
}

/* ---- storing ---- */

enum weir_status store_delta(void *state, double *ret_rate, struct weir_error *err)
{
    const struct orchestrator_bench *bench = state;
    WEIR_AUTO_FREE char *path = path_of(bench, "delta");
    struct mapping base = {0}, model = {0};
    struct model_delta_written written;
    enum weir_status status = map(bench, "base", &base, err);
    if (status == WEIR_OK)
        status = map(bench, "model", &model, err);
    int64_t since_ns = weir_now_ns();
    if (status == WEIR_OK)
        status = orchestrator_model_delta_write(path, view(&model), view(&base), &written, err);
    *ret_rate = rate(model.size, since_ns);
    weir_file_unmap(base.at, base.size);
    weir_file_unmap(model.at, model.size);
    return status;
}

enum weir_status store_whole(void *state, double *ret_rate, struct weir_error *err)
{
    const struct orchestrator_bench *bench = state;
    WEIR_AUTO_FREE char *path = path_of(bench, "whole");
    struct mapping model = {0};
    enum weir_status status = map(bench, "model", &model, err);
    int64_t since_ns = weir_now_ns();
    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, view(&model), err);
    *ret_rate = rate(model.size, since_ns);
    weir_file_unmap(model.at, model.size);
    return status;
}

/* ---- loading ---- */

enum weir_status prepare_delta(void *state, struct weir_error *err)
{
    struct orchestrator_bench *bench = state;
    double unused = 0;
    enum weir_status status = prepare_models(state, err);
    if (status == WEIR_OK && !bench->has_delta)
        status = store_delta(state, &unused, err);
    bench->has_delta = status == WEIR_OK;
    return status;
}

/* The base was read just before when it is the model that was the newest one until now. */
static enum weir_status load(const struct orchestrator_bench *bench, bool base_is_read,
                             double *ret_rate, struct weir_error *err)
{
    struct mapping base = {0}, delta = {0};
    WEIR_AUTO_BUF model = {0};
    enum weir_status status = forget(bench, "delta", err);
    if (status == WEIR_OK)
        status = base_is_read ? remember(bench, "base", err) : forget(bench, "base", err);
    int64_t since_ns = weir_now_ns();
    if (status == WEIR_OK)
        status = map(bench, "base", &base, err);
    if (status == WEIR_OK)
        status = map(bench, "delta", &delta, err);
    if (status == WEIR_OK)
        status =
            orchestrator_model_delta_apply(view(&delta), view(&base), MODEL_BYTES_MAX, &model, err);
    *ret_rate = rate(model.size, since_ns);
    weir_file_unmap(base.at, base.size);
    weir_file_unmap(delta.at, delta.size);
    return status;
}

enum weir_status load_delta(void *state, double *ret_rate, struct weir_error *err)
{
    return load(state, true, ret_rate, err);
}

enum weir_status load_both(void *state, double *ret_rate, struct weir_error *err)
{
    return load(state, false, ret_rate, err);
}

enum weir_status load_whole(void *state, double *ret_rate, struct weir_error *err)
{
    const struct orchestrator_bench *bench = state;
    WEIR_AUTO_FREE char *path = path_of(bench, "model");
    WEIR_AUTO_BUF model = {0};
    enum weir_status status = forget(bench, "model", err);
    int64_t since_ns = weir_now_ns();
    if (status == WEIR_OK)
        status = weir_file_read(path, MODEL_BYTES_MAX, &model, err);
    *ret_rate = rate(model.size, since_ns);
    return status;
}

/* ---- sizes: the smaller, the higher the rate ---- */

static enum weir_status size_of(const struct orchestrator_bench *bench, const char *name,
                                double *ret_rate, struct weir_error *err)
{
    struct mapping file = {0};
    enum weir_status status = map(bench, name, &file, err);
    *ret_rate = 1 / (double)file.size;
    weir_file_unmap(file.at, file.size);
    return status;
}

enum weir_status delta_size(void *state, double *ret_rate, struct weir_error *err)
{
    return size_of(state, "delta", ret_rate, err);
}

enum weir_status whole_size(void *state, double *ret_rate, struct weir_error *err)
{
    return size_of(state, "model", ret_rate, err);
}

enum weir_status zstd_size(void *state, double *ret_rate, struct weir_error *err)
{
    struct mapping model = {0};
    enum weir_status status = map(state, "model", &model, err);
    if (status != WEIR_OK)
        return status;
    size_t room = ZSTD_compressBound(model.size);
    WEIR_AUTO_FREE uint8_t *out = weir_calloc(room, 1);
    *ret_rate = 1 / (double)ZSTD_compress(out, room, model.at, model.size, ZSTD_LEVEL);
    weir_file_unmap(model.at, model.size);
    return WEIR_OK;
}
