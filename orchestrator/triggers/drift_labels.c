/* Labels as classes or numbers. */
#include "orchestrator/triggers/drift_labels.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static float *numbers_of(const struct window *window, bool are_reals)
{
    float *numbers = weir_calloc(window->count + 1, sizeof(*numbers));
    for (size_t i = 0; i < window->count; i++) {
        double real = (double)window->at[i].label;
        if (are_reals)
            memcpy(&real, &window->at[i].label, sizeof(real));
        numbers[i] = (float)real;
    }
    return numbers;
}

static int64_t *classes_of(const struct window *window)
{
    int64_t *classes = weir_calloc(window->count + 1, sizeof(*classes));
    for (size_t i = 0; i < window->count; i++)
        classes[i] = window->at[i].label;
    return classes;
}

struct drift_input orchestrator_drift_labels_open(struct drift_labels *labels,
                                                  enum drift_labels_kind kind,
                                                  const struct window *reference,
                                                  const struct window *current)
{
    const struct window *windows[2] = {reference, current};
    for (size_t i = 0; i < 2; i++) {
        labels->classes[i] = kind == LABELS_CLASSES ? classes_of(windows[i]) : NULL;
        labels->numbers[i] =
            kind == LABELS_CLASSES ? NULL : numbers_of(windows[i], kind == LABELS_REALS);
    }
    return (struct drift_input){
        .reference = {reference->count, labels->numbers[0], labels->classes[0]},
        .current = {current->count, labels->numbers[1], labels->classes[1]},
        .width = 1,
    };
}

void orchestrator_drift_labels_fini(struct drift_labels *labels)
{
    for (size_t i = 0; i < 2; i++) {
        free(labels->classes[i]);
        free(labels->numbers[i]);
    }
}
