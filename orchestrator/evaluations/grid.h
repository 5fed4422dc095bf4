/* The grid of time that `slicing` and `periodic` lay over a stream: every so often, from a time on, up to another. */
#ifndef ORCHESTRATOR_EVALUATIONS_GRID_H
#define ORCHESTRATOR_EVALUATIONS_GRID_H

#include "orchestrator/evaluations/strategy.h"
#include "orchestrator/values/period.h"

struct grid_options {
    const char *every, *from, *to;
};

/* Three rows of a key table. */
// clang-format off
#define GRID_KEYS(owner, member, every_doc)                                                       \
    CFG_KEY_AS("every", CFG_KIND_TEXT, const char *, owner, member.every, .required = true,       \
               .doc = every_doc),                                                                 \
    CFG_KEY_AS("from", CFG_KIND_TEXT, const char *, owner, member.from,                           \
               .doc = "the first at or after this time; where the first model's newest sample "   \
                      "is, if nothing is said"),                                                  \
    CFG_KEY_AS("to", CFG_KIND_TEXT, const char *, owner, member.to,                               \
               .doc = "none from this time on; the newest sample, if nothing is said")
// clang-format on

struct grid {
    struct orchestrator_period every;
    int64_t from, to; /* INT64_MIN, INT64_MAX: not said */
};

enum weir_status orchestrator_grid_init(struct grid *grid, const struct grid_options *options,
                                        const struct weir_yaml_node *node,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Number of boundaries that the grid has on a stream. */
uint64_t orchestrator_grid_count(const void *grid, const struct evaluation_stream *stream);
/* The boundary that the grid begins with on a stream, for the newest EVALUATION_INTERVALS_MAX of them, and whether it
 * goes on at `boundary`. */
int64_t orchestrator_grid_first(const struct grid *grid, const struct evaluation_stream *stream);
static inline bool orchestrator_grid_has(const struct grid *grid,
                                         const struct evaluation_stream *stream, int64_t boundary)
{
    return boundary < grid->to && boundary <= stream->end_time;
}

#endif
