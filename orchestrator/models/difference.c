/* Float by float, where two models overlap. */
#include "orchestrator/models/difference.h"

#include "core/wire/model_file.h"

#include <math.h>
#include <string.h>

/* Bit by bit: NaN is what it was, and -0 is not 0. */
static bool is_changed(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(float)) != 0;
}

static void compare(float a, float b, struct tensor_difference *found, double *squares)
{
    if (!isfinite(a) || !isfinite(b)) {
        found->not_finite++;
        return;
    }
    double apart = fabs((double)a - (double)b);
    found->max_abs = fmax(found->max_abs, apart);
    *squares += apart * apart;
}

/* Either may be NULL: that model has none of that name. */
static struct tensor_difference compare_tensors(const struct model_tensor *const of[2])
{
    struct tensor_difference found = {.compared = 0};
    double squares = 0;
    for (size_t i = 0; i < 2; i++) {
        if (of[i] == NULL)
            continue;
        memcpy(found.name, of[i]->name, sizeof(found.name));
        found.rows[i] = of[i]->rows;
        found.width[i] = of[i]->width;
    }
    uint64_t rows = found.rows[0] < found.rows[1] ? found.rows[0] : found.rows[1];
    uint64_t width = found.width[0] < found.width[1] ? found.width[0] : found.width[1];
    found.compared = rows * width;
    for (uint64_t row = 0; row < rows; row++) {
        const float *a = of[0]->at + row * found.width[0], *b = of[1]->at + row * found.width[1];
        for (uint64_t i = 0; i < width; i++) {
            found.changed += is_changed(&a[i], &b[i]);
            compare(a[i], b[i], &found, &squares);
        }
    }
    uint64_t finite = found.compared - found.not_finite;
    found.rms = finite == 0 ? 0 : sqrt(squares / (double)finite);
    return found;
}

static const struct model_tensor *find(const struct model_tensor *tensors, size_t count,
                                       const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(tensors[i].name, name) == 0)
            return &tensors[i];
    return NULL;
}

static size_t compare_files(const struct weir_model_file *a, const struct weir_model_file *b,
                            struct tensor_difference *found)
{
    struct model_tensor first[MODEL_FLOAT_TENSORS], second[MODEL_FLOAT_TENSORS];
    size_t of_first = orchestrator_model_tensors(a, first);
    size_t of_second = orchestrator_model_tensors(b, second), count = 0;
    for (size_t i = 0; i < of_first; i++) {
        const struct model_tensor *other = find(second, of_second, first[i].name);
        found[count++] = compare_tensors((const struct model_tensor *const[2]){&first[i], other});
    }
    for (size_t i = 0; i < of_second; i++)
        if (find(first, of_first, second[i].name) == NULL)
            found[count++] =
                compare_tensors((const struct model_tensor *const[2]){NULL, &second[i]});
    return count;
}

enum weir_status orchestrator_model_difference(
    struct weir_bytes a, struct weir_bytes b,
    struct tensor_difference ret_tensors[MODEL_DIFFERENCES], size_t *ret_count,
    struct weir_error *err)
{
    struct weir_model_file first, second;
    enum weir_status status = weir_model_file_view(a, &first, err);
    if (status != WEIR_OK)
        return status;
    status = weir_model_file_view(b, &second, err);
    if (status == WEIR_OK) {
        *ret_count = compare_files(&first, &second, ret_tensors);
        weir_model_file_fini(&second);
    }
    weir_model_file_fini(&first);
    return status;
}
