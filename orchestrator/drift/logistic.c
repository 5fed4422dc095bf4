/* Newton's steps by conjugate gradients: see logistic.h. */
#include "orchestrator/drift/logistic.h"

#include "core/base/elementary.h"
#include "core/base/memory.h"
#include "core/loop/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEWTON_MAX = 30, GRADIENTS_MAX = 200, HALVINGS_MAX = 20 };

static const double CLOSE = 1e-10;

struct fit {
    const struct logistic_rows *rows;
    double ridge;
    size_t size;       /* width + 1 */
    double *curvature; /* p (1 - p) of each row at the present weights */
    double *gradient, *step, *residual, *direction, *turned, *tried; /* size each */
};

static double chance(double score)
{
    double power = weir_exp(-fabs(score));
    return score >= 0 ? 1 / (1 + power) : power / (1 + power);
}

double orchestrator_logistic_score(const double *row, size_t width, const double *weights)
{
    double sum = weights[width];
    for (size_t k = 0; k < width; k++)
        sum += weights[k] * row[k];
    return sum;
}

static bool is_left_out(const struct logistic_rows *rows, size_t row)
{
    return rows->skip != NULL && rows->skip[row];
}

static void add_row(const struct logistic_rows *rows, size_t row, double factor, double *sums)
{
    const double *values = rows->values + row * rows->width;
    for (size_t k = 0; k < rows->width; k++)
        sums[k] += factor * values[k];
    sums[rows->width] += factor;
}

static double dot(const double *a, const double *b, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The objective at `weights`. */
static double loss_at(const struct fit *fit, const double *weights)
{
    const struct logistic_rows *rows = fit->rows;
    double sum = fit->ridge / 2 * dot(weights, weights, rows->width);
    for (size_t i = 0; i < rows->count; i++) {
        if (is_left_out(rows, i))
            continue;
        double score =
            orchestrator_logistic_score(rows->values + i * rows->width, rows->width, weights);
        double against = rows->labels[i] ? -score : score;
        sum += fmax(against, 0) + weir_ln1p(weir_exp(-fabs(score)));
    }
    return sum;
}

static void differentiate(struct fit *fit, const double *weights)
{
    const struct logistic_rows *rows = fit->rows;
    for (size_t k = 0; k < fit->size; k++)
        fit->gradient[k] = k < rows->width ? fit->ridge * weights[k] : 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (is_left_out(rows, i))
            continue;
        double p = chance(
            orchestrator_logistic_score(rows->values + i * rows->width, rows->width, weights));
        fit->curvature[i] = p * (1 - p);
        add_row(rows, i, p - rows->labels[i], fit->gradient);
    }
}

/* turned = Hessian · direction. */
static void turn(struct fit *fit)
{
    const struct logistic_rows *rows = fit->rows;
    for (size_t k = 0; k < fit->size; k++)
        fit->turned[k] = k < rows->width ? fit->ridge * fit->direction[k] : 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (is_left_out(rows, i))
            continue;
        double along = orchestrator_logistic_score(rows->values + i * rows->width, rows->width,
                                                   fit->direction);
        add_row(rows, i, fit->curvature[i] * along, fit->turned);
    }
}

/* Hessian · step = - gradient (Hestenes & Stiefel 1952). */
static void find_step(struct fit *fit)
{
    for (size_t k = 0; k < fit->size; k++) {
        fit->step[k] = 0;
        fit->residual[k] = fit->direction[k] = -fit->gradient[k];
    }
    double left = dot(fit->residual, fit->residual, fit->size);
    double enough = left * 1e-12;
    struct weir_work *work = fit->rows->work;
    for (int i = 0; i < GRADIENTS_MAX && left > enough && weir_work_goes_on(work, 0, 0); i++) {
        turn(fit);
        double length = left / dot(fit->direction, fit->turned, fit->size);
        if (!isfinite(length))
            return;
        for (size_t k = 0; k < fit->size; k++) {
            fit->step[k] += length * fit->direction[k];
            fit->residual[k] -= length * fit->turned[k];
        }
        double now = dot(fit->residual, fit->residual, fit->size);
        for (size_t k = 0; k < fit->size; k++)
            fit->direction[k] = fit->residual[k] + now / left * fit->direction[k];
        left = now;
    }
}

/* Halves the step until it helps; false: it never does. */
static bool walk(struct fit *fit, double *weights, double *loss)
{
    double length = 1;
    for (int i = 0; i < HALVINGS_MAX; i++, length /= 2) {
        for (size_t k = 0; k < fit->size; k++)
            fit->tried[k] = weights[k] + length * fit->step[k];
        double there = loss_at(fit, fit->tried);
        if (there < *loss) {
            memcpy(weights, fit->tried, fit->size * sizeof(*weights));
            *loss = there;
            return true;
        }
    }
    return false;
}

void orchestrator_logistic_fit(const struct logistic_rows *rows, double ridge, double *ret_weights)
{
    size_t size = rows->width + 1;
    WEIR_AUTO_FREE double *room = weir_calloc(6 * size + rows->count, sizeof(*room));
    struct fit fit = {.rows = rows,
                      .ridge = ridge,
                      .size = size,
                      .gradient = room,
                      .step = room + size,
                      .residual = room + 2 * size,
                      .direction = room + 3 * size,
                      .turned = room + 4 * size,
                      .tried = room + 5 * size,
                      .curvature = room + 6 * size};
    memset(ret_weights, 0, size * sizeof(*ret_weights));
    double loss = loss_at(&fit, ret_weights);
    for (int i = 0; i < NEWTON_MAX && weir_work_goes_on(rows->work, 0, 0); i++) {
        double before = loss;
        differentiate(&fit, ret_weights);
        find_step(&fit);
        if (!walk(&fit, ret_weights, &loss) || before - loss <= CLOSE * before)
            return;
    }
}
