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

static struct tensor_difference compare_tensors(const char *name, const float *const at[2],
                                                const struct weir_model_file *const of[2])
{
    struct tensor_difference found = {.name = name};
    double squares = 0;
    for (size_t i = 0; i < 2; i++) {
        found.rows[i] = at[i] == NULL ? 0 : of[i]->rows;
        found.width[i] = at[i] == NULL ? 0 : of[i]->width;
    }
    uint64_t rows = found.rows[0] < found.rows[1] ? found.rows[0] : found.rows[1];
    uint64_t width = found.width[0] < found.width[1] ? found.width[0] : found.width[1];
    found.compared = rows * width;
    for (uint64_t row = 0; row < rows; row++) {
        const float *a = at[0] + row * found.width[0], *b = at[1] + row * found.width[1];
        for (uint64_t i = 0; i < width; i++) {
            found.changed += is_changed(&a[i], &b[i]);
            compare(a[i], b[i], &found, &squares);
        }
    }
    uint64_t finite = found.compared - found.not_finite;
    found.rms = finite == 0 ? 0 : sqrt(squares / (double)finite);
    return found;
}

enum weir_status orchestrator_model_difference(struct weir_bytes a, struct weir_bytes b,
                                               struct tensor_difference ret_tensors[MODEL_TENSORS],
                                               struct weir_error *err)
{
    struct weir_model_file first, second;
    enum weir_status status = weir_model_file_view(a, &first, err);
    if (status != WEIR_OK)
        return status;
    status = weir_model_file_view(b, &second, err);
    if (status == WEIR_OK) {
        const struct weir_model_file *const of[2] = {&first, &second};
        const float *const parameters[2] = {first.parameters, second.parameters};
        const float *const states[2] = {first.optimizer_state, second.optimizer_state};
        ret_tensors[0] = compare_tensors("parameters", parameters, of);
        ret_tensors[1] = compare_tensors("optimizer_state", states, of);
        weir_model_file_fini(&second);
    }
    weir_model_file_fini(&first);
    return status;
}
