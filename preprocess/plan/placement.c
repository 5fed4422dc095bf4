/* See placement.h. */
#include "preprocess/plan/placement.h"

enum { ENDS = 2 /* of a way: one sends, one receives */ };

static double each(double sum, double rows)
{
    return rows > 0 ? sum / rows : 0;
}

static double gain_of(const struct placement *placement)
{
    return placement->saved_ns - placement->host_ns;
}

/* Returns the time per row of all operators. */
static double all_ns(const struct chain *chain, const struct ordering_cost *costs)
{
    double ns = 0;
    for (size_t i = 0; i < preprocess_chain_operators(chain); i++)
        ns += each(costs[i].ns, costs[i].rows);
    return ns;
}

struct placement preprocess_placement_choose(const struct chain *chain, const uint8_t *order,
                                             const struct ordering_cost *costs,
                                             const struct placement_transport *transport)
{
    size_t count = preprocess_chain_operators(chain);
    size_t most = preprocess_chain_sinkable(chain, order);
    struct placement best = {0}, tried = {0};
    if (transport->bytes < PLACEMENT_MEASURE_BYTES || transport->bytes < transport->lent)
        return best;
    for (size_t i = 1; i <= most; i++) {
        const struct ordering_cost *cost = &costs[order[count - i]];
        tried.sunk++;
        tried.saved_bytes += each(cost->made - cost->taken, cost->rows);
        tried.saved_ns = tried.saved_bytes * ENDS * transport->ns / transport->bytes;
        tried.host_ns += each(cost->ns, cost->rows);
        if (gain_of(&tried) > gain_of(&best) || best.sunk == 0)
            best = tried;
    }
    best.is_chosen = true;
    if (gain_of(&best) <= PLACEMENT_GAIN * all_ns(chain, costs))
        best.sunk = 0;
    return best;
}
