/* See keeping.h. */
#include "preprocess/plan/keeping.h"

enum { ENTRY_BYTES = 41 /* of a row in a segment, besides its own: core/wire/cache_segment.h */ };

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* ---- the choice ---- */

/* Rows are in the page cache as far as that reaches: a part of them all, for they are read in any order. */
double preprocess_keeping_read_ns(const struct keeping_disk *disk, double bytes)
{
    double warm = bytes > 0 ? least(1, disk->memory / bytes) : 1;
    return warm * disk->warm_ns + (1 - warm) * disk->cold_ns;
}

static struct keeping_option compute(const struct keeping_place *place,
                                     const struct keeping_needs *needs)
{
    return (struct keeping_option){
        .fits = 1, .total_ns = needs->rows * needs->uses * (place->make_ns + place->rest_ns)};
}

/* Rows that find no room are made each time; the others are made and written once, unless they are there. What other
 * jobs keep makes room, unless it is used. */
static struct keeping_option keep(const struct keeping_place *place,
                                  const struct keeping_disk *disk,
                                  const struct keeping_needs *needs)
{
    double bytes = place->bytes + ENTRY_BYTES, all = bytes * needs->rows;
    double fits = least(1, disk->budget / all);
    double there = place->cut == needs->kept_cut ? least(needs->present, fits) : 0;
    double written = fits - there, read = needs->uses * fits - written;
    double read_ns = bytes * preprocess_keeping_read_ns(disk, fits * all) + KEEPING_ROW_NS;
    double each_ns = written * (place->make_ns + bytes * disk->write_ns) +
                     (read > 0 ? read : 0) * read_ns + (1 - fits) * needs->uses * place->make_ns +
                     needs->uses * place->rest_ns;
    return (struct keeping_option){
        .cut = place->cut, .bytes = all, .fits = fits, .total_ns = needs->rows * each_ns};
}

struct keeping_choice preprocess_keeping_choose(const struct keeping_place *places, size_t count,
                                                const struct keeping_disk *disk,
                                                const struct keeping_needs *needs)
{
    struct keeping_choice choice = {0};
    if (count == 0)
        return choice;
    choice.option[choice.count++] = compute(&places[0], needs);
    double best = choice.option[0].total_ns * (1 - KEEPING_GAIN);
    for (size_t i = 0; i < count && disk->budget > 0; i++) {
        struct keeping_option *option = &choice.option[choice.count++];
        *option = keep(&places[i], disk, needs);
        if (option->total_ns >= best)
            continue;
        best = option->total_ns;
        choice.cut = option->cut;
    }
    return choice;
}

/* ---- what is measured ---- */

static double spent_ns(const struct keeping *keeping, size_t first, size_t end)
{
    double ns = 0;
    for (size_t i = first; i < end; i++)
        ns += keeping->costs[i].ns;
    return ns;
}

/* Those that came to the first operator: rows of the set that were made. */
double preprocess_keeping_rows(const struct keeping *keeping)
{
    double rows = 0;
    for (size_t i = 0; i < CHAIN_OPERATORS_MAX; i++)
        rows = keeping->costs[i].rows > rows ? keeping->costs[i].rows : rows;
    return rows;
}

void preprocess_keeping_measure(struct keeping *keeping, size_t operators,
                                const struct ordering_cost *costs, double read_ns)
{
    if (keeping->is_measured)
        return;
    keeping->read_ns += read_ns;
    for (size_t i = 0; i < operators; i++) {
        struct ordering_cost *sum = &keeping->costs[i];
        sum->ns += costs[i].ns;
        sum->taken += costs[i].taken;
        sum->made += costs[i].made;
        sum->rows += costs[i].rows;
        sum->kept += costs[i].kept;
    }
    keeping->is_measured = spent_ns(keeping, 0, operators) >= KEEPING_MEASURE_NS &&
                           preprocess_keeping_rows(keeping) > 0;
}

/* Returns the bytes that operators have made of the columns at a cut. */
static double bytes_at(const struct keeping *keeping, const struct chain *cut)
{
    uint8_t makers[COLUMNS_MAX];
    size_t count = preprocess_chain_cut_makers(cut, makers);
    double bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += keeping->costs[makers[i]].made;
    return bytes;
}

size_t preprocess_keeping_places(const struct keeping *keeping, const struct chain *chain,
                                 struct keeping_place ret_places[CHAIN_OPERATORS_MAX])
{
    size_t operators = preprocess_chain_operators(chain), count = 0;
    double rows = preprocess_keeping_rows(keeping);
    for (size_t cut = 1; cut <= operators && rows > 0; cut++) {
        struct weir_error err;
        WEIR_AUTO(chain) divided = NULL;
        if (preprocess_chain_cut_parts(chain, cut) ||
            preprocess_chain_cut_after(chain, cut, &divided, &err) != WEIR_OK)
            continue;
        ret_places[count++] = (struct keeping_place){
            .cut = (uint32_t)cut,
            .make_ns = (keeping->read_ns + spent_ns(keeping, 0, cut)) / rows,
            .rest_ns = spent_ns(keeping, cut, operators) / rows,
            .bytes = bytes_at(keeping, divided) / rows,
        };
    }
    return count;
}

bool preprocess_keeping_decide(struct keeping *keeping, const struct chain *chain,
                               const struct keeping_disk *disk, const struct keeping_needs *needs)
{
    struct keeping_place places[CHAIN_OPERATORS_MAX];
    uint32_t before = keeping->choice.cut;
    if (!keeping->is_measured)
        return false;
    size_t count = preprocess_keeping_places(keeping, chain, places);
    keeping->disk = *disk;
    keeping->needs = *needs;
    keeping->choice = preprocess_keeping_choose(places, count, disk, needs);
    keeping->is_chosen = true;
    return keeping->choice.cut != before;
}

bool preprocess_keeping_hint(const struct keeping *keeping, const struct chain *chain,
                             size_t *ret_place, double *ret_share)
{
    size_t operators = preprocess_chain_operators(chain);
    double all = spent_ns(keeping, 0, operators);
    for (size_t place = operators; place-- > 0 && all > 0;) {
        if (!preprocess_chain_makes_for_one(chain, place))
            continue;
        *ret_place = place;
        *ret_share = spent_ns(keeping, 0, place + 1) / all;
        return true;
    }
    return false;
}
