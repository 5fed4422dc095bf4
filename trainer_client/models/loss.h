/* Losses: what a model's outputs are measured by, sample by sample. Pure. To add one: a row in
 * loss.c. */
#ifndef WEIR_TRAINER_CLIENT_MODELS_LOSS_H
#define WEIR_TRAINER_CLIENT_MODELS_LOSS_H

#include "core/base/error.h"
#include "core/wire/fitted.h"

#include <weir/client.h>

struct loss {
    const char *name;
    const char *summary;
    /* Outputs per sample for `classes` class names (0: the label is no class). INVALID when the
     * loss cannot do it. */
    enum weir_status (*width)(size_t classes, uint32_t outputs, uint32_t *ret_width,
                              struct weir_error *err);
    /* True when `label` can be measured against `width` outputs. */
    bool (*accepts)(double label, uint32_t width);
    const char *expected; /* of a label, for messages */
    bool takes_classes;   /* labels are numbers of classes */
    /* The loss of one sample, and d loss / d outputs in `slope` (width). */
    double (*measure)(const float *outputs, uint32_t width, double label, float *slope);
    /* Optional. The same for a label of `width` finite numbers. */
    double (*measure_values)(const float *outputs, uint32_t width, const float *label,
                             float *slope);
    /* Turns outputs into predictions in place: probabilities, or the value itself. */
    void (*predict)(float *outputs, uint32_t width);
};

/* NULL-terminated, in the order of trainer_loss_at(). */
extern const char *const TRAINER_LOSS_NAMES[];

const struct loss *trainer_loss_at(size_t index);
const struct loss *trainer_loss_find(const char *name);

/* The label of sample `index` as a number. */
double trainer_loss_label(const struct weir_batch *batch, size_t index);

/* Returns what 1 of an output is in the units of the labels. */
static inline double trainer_loss_unit(const struct weir_label_scale *scale)
{
    return scale->deviation > 0.0 ? scale->deviation : 1.0;
}

/* One batch being measured. Losses are in the units of the labels; slopes in those of the outputs, so that a learning
 * rate is good for labels of any size. */
struct loss_work {
    const struct loss *loss;
    uint32_t width;
    const float *outputs; /* (samples, width) */
    float *slopes;  /* (samples, width): becomes d loss / d outputs of each sample by itself */
    double *losses; /* (samples): becomes each sample's loss; NULL: not wanted */
    const float *weights;          /* (samples); NULL: those of the selection */
    struct weir_label_scale scale; /* of the outputs; zeroed: they are in the labels' units */
    /* Become the sums of weight * loss and of weights; the batch's loss is weighted / weight. */
    double weighted, weight;
};

/* INVALID, naming the sample's id, for a label that the loss does not accept, and for labels that are vectors
 * but not of its width. */
enum weir_status trainer_loss_measure(struct loss_work *work, const struct weir_batch *batch,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Returns the sum of the batch's weights. */
double trainer_loss_weight(const struct loss_work *work, const struct weir_batch *batch);
/* Turns the slopes of a measured batch into d mean / d outputs: each sample's, by its share of `weight`. Weight 0
 * teaches nothing. */
void trainer_loss_scale(const struct loss_work *work, const struct weir_batch *batch,
                        double weight);

#endif
