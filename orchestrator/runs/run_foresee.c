/* The future of the samples of a training, for the choice of what is kept of them (preprocess/plan/keeping.h): foretold
 * from the set of the training before it, whatever policy chose that. It is advice: what is not known counts as 0. */
#include "orchestrator/runs/run_state.h"

#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/wire/sample_set.h"

enum { PROBES = 1024, LATER_MAX = 24 };

/* Returns the share of one set's samples that the other one has, as far as PROBES of them tell. */
static double share_in(const struct weir_sample_set *of, const struct weir_sample_set *in)
{
    size_t probes = of->count < PROBES ? of->count : PROBES, found = 0;
    for (size_t i = 0; i < probes; i++)
        found += weir_sample_set_find(in, of->ids[i * of->count / probes]) >= 0;
    return probes > 0 ? (double)found / (double)probes : 0;
}

/* A sample that stays with probability `recurs` from one training to the next is in recurs / (1 - recurs) more on
 * average; and a pipeline that has trained so often will do so as often again (Gott, Nature 363, 1993). */
static double later_of(double recurs, int64_t trainings)
{
    double most = trainings < LATER_MAX ? (double)trainings : LATER_MAX;
    return recurs < 1 && recurs / (1 - recurs) < most ? recurs / (1 - recurs) : most;
}

static void compare(const struct run *run, const char *before_path, int64_t trainings,
                    struct run_foresight *foresight)
{
    struct weir_error err;
    struct weir_sample_set now = {0}, before = {0};
    WEIR_AUTO_FREE char *now_path = weir_path_in(run->context->data_dir, run->set_path);
    WEIR_AUTO_FREE char *path = weir_path_in(run->context->data_dir, before_path);
    if (weir_sample_set_open_unread(now_path, &now, &err) == WEIR_OK &&
        weir_sample_set_open_unread(path, &before, &err) == WEIR_OK) {
        foresight->later = later_of(share_in(&before, &now), trainings);
        foresight->seen = share_in(&now, &before);
    }
    weir_sample_set_close(&now);
    weir_sample_set_close(&before);
}

/* Of the first training there is only the word of the selection: its samples are candidates again, or are not. */
static double later_of_first(const struct run *run)
{
    const struct weir_yaml_node *root = weir_yaml_root(run->outline.config->document);
    const char *tail =
        weir_yaml_text(weir_yaml_get(weir_yaml_get(root, "selection"), "tail_triggers"));
    return tail != NULL && !weir_str_equal(tail, "0") ? 1 : 0;
}

struct run_foresight orchestrator_run_foresee(const struct run *run)
{
    struct run_foresight foresight = {0};
    if (!weir_str_equal(run->mode, "train"))
        return foresight;
    if (weir_rows_count(run->before) == 0)
        foresight.later = later_of_first(run);
    else
        compare(run, weir_rows_text(run->before, 0, "set_path"),
                weir_rows_i64(run->before, 0, "trainings"), &foresight);
    return foresight;
}
