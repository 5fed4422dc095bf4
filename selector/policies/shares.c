/* Largest remainders, and components that run short. */
#include "selector/policies/shares.h"

enum { COMPONENTS_MAX = SELECTION_COMPONENTS_MAX };

/* Over the open components. */
static void divide(const struct selection_shares *of, const bool *open, size_t total,
                   size_t *quotas)
{
    double remainders[COMPONENTS_MAX] = {0};
    double sum = 0;
    size_t given = 0;
    for (size_t c = 0; c < of->count; c++)
        sum += open[c] ? of->shares[c] : 0;
    for (size_t c = 0; c < of->count; c++) {
        if (!open[c])
            continue;
        double exact = (double)total * (of->shares[c] / sum);
        quotas[c] = (size_t)exact;
        remainders[c] = exact - (double)quotas[c];
        given += quotas[c];
    }
    for (; given < total; given++) {
        size_t best = COMPONENTS_MAX;
        for (size_t c = 0; c < of->count; c++)
            if (open[c] && (best == COMPONENTS_MAX || remainders[c] > remainders[best]))
                best = c;
        quotas[best]++;
        remainders[best]--;
    }
}

/* A component that is short closes with all it has; true when one did. */
static bool close_short(const struct selection_shares *of, bool *open, size_t *quotas,
                        size_t *total)
{
    bool closed = false;
    for (size_t c = 0; c < of->count; c++) {
        if (!open[c] || quotas[c] <= of->sizes[c])
            continue;
        quotas[c] = of->sizes[c];
        *total -= quotas[c];
        open[c] = false;
        closed = true;
    }
    return closed;
}

static void open_all(const struct selection_shares *of, bool *open)
{
    for (size_t c = 0; c < of->count; c++)
        open[c] = true;
}

void selector_shares_fill(const struct selection_shares *of, size_t total, size_t *quotas)
{
    bool open[COMPONENTS_MAX] = {false};
    size_t available = 0;
    open_all(of, open);
    for (size_t c = 0; c < of->count; c++)
        available += of->sizes[c];
    if (available < total)
        total = available;
    do {
        divide(of, open, total, quotas);
    } while (close_short(of, open, quotas, &total) && total > 0);
    for (size_t c = 0; total == 0 && c < of->count; c++)
        quotas[c] = open[c] ? 0 : quotas[c];
}

void selector_shares_cut(const struct selection_shares *of, size_t total, size_t *quotas)
{
    bool open[COMPONENTS_MAX] = {false};
    open_all(of, open);
    divide(of, open, total, quotas);
    close_short(of, open, quotas, &total);
}

static bool is_short(const struct selection_shares *of, const size_t *quotas)
{
    for (size_t c = 0; c < of->count; c++)
        if (quotas[c] > of->sizes[c])
            return true;
    return false;
}

/* Near the smallest size / share. */
void selector_shares_fit(const struct selection_shares *of, size_t total, size_t *quotas)
{
    bool open[COMPONENTS_MAX] = {false};
    double sum = 0;
    open_all(of, open);
    for (size_t c = 0; c < of->count; c++)
        sum += of->shares[c];
    for (size_t c = 0; c < of->count; c++) {
        double reach = ((double)of->sizes[c] + 1) * sum / of->shares[c];
        if (reach < (double)total)
            total = (size_t)reach;
    }
    divide(of, open, total, quotas);
    while (is_short(of, quotas))
        divide(of, open, --total, quotas);
}
