/* Built-in models against the products that are known for them: samples a second of CPU time, and how good they get. */
#include "benchmarks/peers/peer.h"
#include "benchmarks/trainer/bench.h"

#include "core/base/memory.h"
#include "orchestrator/platform/platform.h"

#include <stdlib.h>

enum { EPOCHS = 5, CLICKS = 240000 };

static const double ACCURACY_MARGIN = 0.005;

static const struct {
    const char *product, *script, *peer; /* the side of the script that is theirs */
    const char *ours;                    /* and the one that is ours */
} PEERS[TRAINER_MODELS] = {
    [MODEL_TITLES] = {"fasttext", "texts_fasttext.py", "fasttext", "relaxed"},
    [MODEL_TITLES_IN_ORDER] = {"fasttext", "texts_fasttext.py", "fasttext", "deterministic"},
    [MODEL_MAILS] = {"fasttext", "texts_fasttext.py", "fasttext", "relaxed"},
    [MODEL_LINEAR] = {"sklearn", "linear_sklearn.py", "sgd", "weir"},
    [MODEL_LINEAR_AT_BEST] = {"sklearn", "linear_sklearn.py", "optimum", "weir"},
};

/* Returns the arguments between the side and the orchestrator: the data, and the folder for what is made of them. */
static char *data_of(const struct trainer_bench *bench, enum trainer_model model, const char *bin)
{
    const char *streams = getenv("WEIR_TEST_DATA");

    switch (model) {
    case MODEL_TITLES:
    case MODEL_TITLES_IN_ORDER:
        return weir_format("titles '%s' '%s/titles'", streams != NULL ? streams : "",
                           bench->directory);
    case MODEL_MAILS:
        return weir_format("mails '%s/.weir/mails' '%s/mails'", WEIR_SOURCE_DIR, bench->directory);
    default:
        return weir_format("'%s/generate_clicks' %d '%s/linear'", bin, (int)(bench->scale * CLICKS),
                           bench->directory);
    }
}

static enum weir_status train(const struct trainer_bench *bench, enum trainer_model model,
                              const char *side, struct peer_training *ret_training,
                              struct weir_error *err)
{
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *data = data_of(bench, model, bin);
    WEIR_AUTO_FREE char *arguments =
        weir_format("%s %s '%s/orchestrator' %d", side, data, bin, EPOCHS);
    WEIR_AUTO_FREE char *command = peer_command(PEERS[model].script, arguments);

    return peer_train(PEERS[model].product, command, ret_training, err);
}

static enum weir_status prepare(struct trainer_bench *bench, enum trainer_model model,
                                struct weir_error *err)
{
    struct peer_training *theirs = &bench->trainings[model];

    if (theirs->quality > 0)
        return WEIR_OK;
    return train(bench, model, PEERS[model].peer, theirs, err);
}

static enum weir_status rate_of(const struct trainer_bench *bench, enum trainer_model model,
                                const char *side, double *ret_rate, struct weir_error *err)
{
    struct peer_training training = {0};
    enum weir_status status = train(bench, model, side, &training, err);

    *ret_rate = training.rate;
    return status;
}

static enum weir_status quality_of(const struct trainer_bench *bench, enum trainer_model model,
                                   double *ret_quality, struct weir_error *err)
{
    struct peer_training training = {0};
    enum weir_status status = train(bench, model, PEERS[model].ours, &training, err);

    *ret_quality = training.quality;
    return status;
}

#define MODEL(name, model)                                                                    \
    enum weir_status prepare_##name(void *state, struct weir_error *err)                      \
    {                                                                                         \
        return prepare(state, model, err);                                                    \
    }                                                                                         \
    enum weir_status name##_ours(void *state, double *ret_rate, struct weir_error *err)       \
    {                                                                                         \
        return rate_of(state, model, PEERS[model].ours, ret_rate, err);                       \
    }                                                                                         \
    enum weir_status name##_theirs(void *state, double *ret_rate, struct weir_error *err)     \
    {                                                                                         \
        return rate_of(state, model, PEERS[model].peer, ret_rate, err);                       \
    }                                                                                         \
    enum weir_status name##_quality(void *state, double *ret_quality, struct weir_error *err) \
    {                                                                                         \
        return quality_of(state, model, ret_quality, err);                                    \
    }                                                                                         \
    enum weir_status name##_wanted(void *state, double *ret_quality, struct weir_error *err)  \
    {                                                                                         \
        const struct trainer_bench *bench = state;                                            \
        (void)err;                                                                            \
        *ret_quality = bench->trainings[model].quality - ACCURACY_MARGIN;                     \
        return WEIR_OK;                                                                       \
    }
MODEL(titles, MODEL_TITLES)
MODEL(titles_in_order, MODEL_TITLES_IN_ORDER)
MODEL(mails, MODEL_MAILS)
MODEL(linear, MODEL_LINEAR)
MODEL(linear_at_best, MODEL_LINEAR_AT_BEST)
