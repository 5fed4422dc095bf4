/* See division.h. */
#include "preprocess/scale/division.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>

static const double ROUNDING = 0.01; /* of a worker: needs are estimates */

double preprocess_division_asked(const struct scale_decision *decision)
{
    double size = decision->size.at[SCALE_POOL];
    if (!decision->is_settled)
        return size;
    double need = decision->need < size ? decision->need : size;
    return need > size - 1 ? need : fmax(size - 1, 0);
}

/* ---- parts of a capacity ---- */

struct part {
    double share, least, most;
    double given;
};

static double part_at(const struct part *part, double level)
{
    return fmax(part->least, fmin(part->most, level * part->share));
}

static double sum_at(const struct part *parts, size_t count, double level)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += part_at(&parts[i], level);
    return sum;
}

/* The highest level at which the parts fit in, by halving: as exact as doubles are. */
static double level_of(const struct part *parts, size_t count, double capacity)
{
    enum { HALVINGS = 128 };
    double low = 0, high = 0;
    for (size_t i = 0; i < count; i++)
        high = fmax(high, parts[i].most / parts[i].share);
    if (sum_at(parts, count, high) <= capacity)
        return high;
    for (size_t i = 0; i < HALVINGS; i++) {
        double middle = low + (high - low) / 2;
        if (sum_at(parts, count, middle) <= capacity)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void divide(struct part *parts, size_t count, double capacity)
{
    if (sum_at(parts, count, 0) > capacity) { /* not even what is due first */
        for (size_t i = 0; i < count; i++) {
            parts[i].most = parts[i].least;
            parts[i].least = 0;
        }
    }
    double level = level_of(parts, count, capacity);
    for (size_t i = 0; i < count; i++)
        parts[i].given = part_at(&parts[i], level);
}

/* ---- pipelines ---- */

/* The jobs of one pipeline: rows in a sorted list. */
struct pipeline {
    struct division_job **jobs;
    size_t count;
    double asked; /* by all of them, before the bounds */
};

static int by_pipeline(const void *left, const void *right)
{
    const struct division_job *a = *(struct division_job *const *)left;
    const struct division_job *b = *(struct division_job *const *)right;
    if (a->pipeline != b->pipeline)
        return a->pipeline < b->pipeline ? -1 : 1;
    return (a > b) - (a < b);
}

static double share_of(const struct division_job *job)
{
    return job->share > 0 ? job->share : 1;
}

static double asked_of(const struct division_job *job)
{
    double asked = job->asked > 0 ? job->asked : 0;
    return job->is_new ? fmax(asked, 1) : asked;
}

static struct part part_of(const struct pipeline *pipeline)
{
    const struct division_job *first = pipeline->jobs[0];
    double max = first->max > 0 ? first->max : SCALE_WORKERS_MAX;
    double most = fmin(fmax(pipeline->asked, first->min), max);
    double new_jobs = 0;
    for (size_t i = 0; i < pipeline->count; i++)
        new_jobs += pipeline->jobs[i]->is_new;
    return (struct part){
        .share = share_of(first),
        .least = fmin(fmax(first->min, new_jobs), most),
        .most = most,
    };
}

static size_t group(struct division_job **sorted, size_t count, struct pipeline *pipelines)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i]->pipeline != sorted[i - 1]->pipeline)
            pipelines[found++] = (struct pipeline){.jobs = &sorted[i]};
        pipelines[found - 1].count++;
        pipelines[found - 1].asked += asked_of(sorted[i]);
    }
    return found;
}

/* Jobs of a pipeline are alike; what a minimum adds to what they ask for, all have a part of. */
static void share_out(const struct pipeline *pipeline, const struct part *whole,
                      struct part *scratch)
{
    double spare = fmax(whole->most - pipeline->asked, 0) / (double)pipeline->count;
    for (size_t i = 0; i < pipeline->count; i++) {
        const struct division_job *job = pipeline->jobs[i];
        scratch[i] =
            (struct part){.share = 1, .least = job->is_new ? 1 : 0, .most = asked_of(job) + spare};
    }
    divide(scratch, pipeline->count, whole->given);
    for (size_t i = 0; i < pipeline->count; i++)
        pipeline->jobs[i]->given = scratch[i].given;
}

/* ---- the pool ---- */

static struct division_bounds bounds_of(const struct division_bounds *bounds)
{
    struct division_bounds within = *bounds;
    within.min = within.min < within.max ? within.min : within.max;
    return within;
}

static uint32_t whole_workers(double workers, const struct division_bounds *bounds)
{
    double whole = ceil(workers - ROUNDING);
    if (whole <= (double)bounds->min)
        return bounds->min;
    return whole < (double)bounds->max ? (uint32_t)whole : bounds->max;
}

/* Workers that closed jobs have left count as long as they linger, but for nothing new is the pool made larger. */
static uint32_t size_for(struct division *division, const struct division_bounds *bounds,
                         double asked, int64_t now_ms)
{
    if (now_ms >= division->lingers_until_ms)
        division->lingering = 0;
    uint32_t needed = whole_workers(asked, bounds);
    uint32_t kept = whole_workers(asked + division->lingering, bounds);
    kept = kept < division->size ? kept : division->size;
    return needed > kept ? needed : kept;
}

void preprocess_division_close(struct division *division, double given, int64_t now_ms)
{
    division->lingering = fmin(division->lingering + fmax(given, 0), division->size);
    division->lingers_until_ms = now_ms + DIVISION_LINGER_MS;
}

uint32_t preprocess_division_divide(struct division *division, const struct division_bounds *bounds,
                                    struct division_job *jobs, size_t count, int64_t now_ms)
{
    WEIR_AUTO_FREE struct division_job **sorted =
        weir_calloc(count + 1, sizeof(struct division_job *));
    WEIR_AUTO_FREE struct pipeline *pipelines = weir_calloc(count + 1, sizeof(*pipelines));
    WEIR_AUTO_FREE struct part *parts = weir_calloc(count + 1, sizeof(*parts));
    WEIR_AUTO_FREE struct part *scratch = weir_calloc(count + 1, sizeof(*scratch));
    struct division_bounds within = bounds_of(bounds);
    double asked = 0;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &jobs[i];
    qsort(sorted, count, sizeof(*sorted), by_pipeline);
    size_t pipeline_count = group(sorted, count, pipelines);
    for (size_t i = 0; i < pipeline_count; i++) {
        parts[i] = part_of(&pipelines[i]);
        asked += parts[i].most;
    }
    division->size = size_for(division, &within, asked, now_ms);
    divide(parts, pipeline_count, division->size);
    for (size_t i = 0; i < pipeline_count; i++)
        share_out(&pipelines[i], &parts[i], scratch);
    return division->size;
}
