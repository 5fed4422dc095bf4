/* See limits.h. */
#include "preprocess/dispatcher/limits.h"

#include <math.h>
#include <unistd.h>

/* Batches a second; 0 where nothing limits them, for then there is nothing to say. */
static double rate_of(double rate)
{
    return isfinite(rate) ? rate : 0;
}

static bool may_be_cut(const struct chain *chain, size_t after)
{
    struct weir_error err;
    WEIR_AUTO(chain) divided = NULL;
    return preprocess_chain_cut_after(chain, after, &divided, &err) == WEIR_OK;
}

/* Rows that are kept behind an operator spare all that runs before; what the disk takes is counted as reading. */
static void show_best_cut(const struct chain *chain, const struct optimum_otherwise *otherwise,
                          struct msg_plan_is *answer)
{
    for (uint32_t cut = 1; cut <= preprocess_chain_operators(chain); cut++) {
        double rate = rate_of(otherwise->cached[cut]);
        if (rate <= answer->with_kept || !may_be_cut(chain, cut))
            continue;
        answer->with_kept = rate;
        answer->with_kept_after = cut;
    }
}

static void show_otherwise(const struct dispatcher_entry *entry, const struct planning *planning,
                           const struct optimum_problem *problem, struct msg_plan_is *answer)
{
    const struct chain *chain = preprocess_entry_chain(entry);
    struct optimum_stage kept[OPTIMUM_STAGES_MAX];
    struct optimum_otherwise otherwise;
    for (size_t i = 0; i < problem->stage_count; i++)
        kept[i] = preprocess_model_cache(&entry->scaling.model, problem, i);
    preprocess_optimum_otherwise(problem, kept, &otherwise);
    answer->with_core = rate_of(otherwise.one_more_core);
    answer->with_reads = rate_of(otherwise.reads_twice_as_fast);
    if (preprocess_chain_has_order(chain, planning->order)) /* a cut is of what is written */
        show_best_cut(chain, &otherwise, answer);
}

void preprocess_limits_show(const struct dispatcher_entry *entry, const struct planning *planning,
                            struct msg_plan_is *answer)
{
    const struct scale_model *model = &entry->scaling.model;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const struct scale_surroundings surroundings = {.cores =
                                                        processors > 0 ? (double)processors : 1};
    struct optimum_problem problem;
    struct optimum optimum;
    answer->limit = "";
    if (model->operator_count != preprocess_chain_operators(preprocess_entry_chain(entry)) ||
        !preprocess_model_problem(model, &surroundings, &problem))
        return;
    preprocess_optimum_solve(&problem, &optimum);
    answer->cores = (uint32_t)surroundings.cores;
    answer->optimum = rate_of(optimum.rate);
    answer->delivered = model->taken.mean;
    answer->wanted = model->own.mean;
    answer->limit = preprocess_optimum_limit_name(optimum.limit);
    answer->limit_stage = (uint32_t)optimum.stage;
    show_otherwise(entry, planning, &problem, answer);
}
