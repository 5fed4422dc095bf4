/* A subset that stands for all: facility location, graph cut or log determinant over the cosine of the
 * gradients (Wei, Iyer & Bilmes, Submodularity in Data Subset Selection and Active Learning, ICML 2015). */
#include "selector/scoring/cover.h"
#include "selector/scoring/graph_cut.h"
#include "selector/scoring/log_determinant.h"

struct submodular {
    int function;
    struct optimizer optimizer;
    double diversity, ridge;
};

static const char *const NAMES[] = {"facility_location", "graph_cut", "log_determinant", NULL};
enum function { FACILITY_LOCATION, GRAPH_CUT, LOG_DETERMINANT };

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(
        struct submodular, function, .choices = NAMES, .fallback = "facility_location",
        .doc = "facility_location: every sample has something like itself; graph_cut: like all, "
               "unlike each other; log_determinant: as different as can be"),
    OPTIMIZER_KEYS(struct submodular, optimizer),
    CFG_F64(struct submodular, diversity, .fallback = "0.5", .min = 0, .max = 0.5,
            .doc = "of graph_cut: how much being like another chosen one counts against a sample"),
    CFG_F64(struct submodular, ridge, .fallback = "0.1", .min = 1e-6, .max = 1e6,
            .doc = "of log_determinant: what is added to each sample's similarity with itself"),
    CFG_END,
};

static bool cover_all(const struct submodular *own, const struct scoring_input *input,
                      struct scoring_choice *choice)
{
    static const struct cover_rule RULE = {.similarity = FACILITY_COSINE};
    return selector_scoring_cover(&own->optimizer, &RULE, input, choice);
}

static bool cut_graph(const struct submodular *own, const struct scoring_input *input,
                      struct scoring_choice *choice)
{
    struct vectors vectors;
    struct graph_cut cut;
    selector_scoring_vectors_init(&vectors, input->values, input->count, input->width,
                                  VECTORS_UNIT_LENGTH);
    selector_scoring_graph_cut_init(&cut, &vectors, own->diversity);
    const struct objective objective = selector_scoring_graph_cut_objective(&cut);
    bool is_done = selector_scoring_optimize(&own->optimizer, &objective, input, choice);
    selector_scoring_graph_cut_fini(&cut);
    selector_scoring_vectors_fini(&vectors);
    return is_done;
}

static bool span_volume(const struct submodular *own, const struct scoring_input *input,
                        struct scoring_choice *choice)
{
    struct vectors vectors;
    struct log_determinant determinant;
    selector_scoring_vectors_init(&vectors, input->values, input->count, input->width,
                                  VECTORS_UNIT_LENGTH);
    selector_scoring_log_determinant_init(&determinant, &vectors, own->ridge);
    const struct objective objective = selector_scoring_log_determinant_objective(&determinant);
    bool is_done = selector_scoring_optimize(&own->optimizer, &objective, input, choice);
    selector_scoring_log_determinant_fini(&determinant);
    selector_scoring_vectors_fini(&vectors);
    return is_done;
}

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    static bool (*const FUNCTIONS[])(const struct submodular *, const struct scoring_input *,
                                     struct scoring_choice *) = {
        [FACILITY_LOCATION] = cover_all,
        [GRAPH_CUT] = cut_graph,
        [LOG_DETERMINANT] = span_volume,
    };
    const struct submodular *own = options;
    return FUNCTIONS[own->function](own, input, choice);
}

const struct scoring_method selector_scoring_submodular = {
    .name = "submodular",
    .summary = "a subset that stands for all samples, by gradient",
    .options = OPTIONS,
    .options_size = sizeof(struct submodular),
    .wants = SCORING_WANTS_GRADIENT,
    .choose = choose,
};
