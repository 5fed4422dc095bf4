/* Shares of components: datasets, labels, or slices of age; fixed, scheduled by trigger, or changing by loss.
 *
 * The target is divided by largest remainders, so that the counts are exact and add up. Without limit
 * and ratio the total is the largest at which no component runs short. With one, `short` says what
 * happens when a component has too few: it gives all it has, and the others share what it leaves by
 * their shares (renormalise), or none does (fewer). Candidates of no component are left out; which
 * samples of a component are taken is random.
 *
 * By loss (steering.h) the shares of a trigger follow from those of the one before and from what the training of the
 * newest model reported; they are sealed with the trigger, so that the next one goes on from them after any crash. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "selector/policies/groups.h"
#include "selector/policies/shares.h"
#include "selector/policies/steering.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMPONENTS_MAX = SELECTION_COMPONENTS_MAX, STAGES_MAX = 32 };
enum over { OVER_DATASETS, OVER_LABELS, OVER_AGES };
enum change { CHANGE_STEP, CHANGE_LINEAR, CHANGE_LOSS };
enum shortage { SHORT_RENORMALISE, SHORT_FEWER };

struct component {
    int64_t key; /* place of a dataset in the file, label, or age that is too old for it */
    double share;
};

/* Other shares from some trigger on. */
struct stage {
    uint64_t from;
    const struct weir_yaml_node *shares;
    double of[COMPONENTS_MAX]; /* in the order of the components */
};

struct mixture {
    int over;
    const struct weir_yaml_node *shares;
    const struct weir_yaml_node *schedule;
    int change;
    int shortage;
    struct selection_steering steering;
    struct stage stages[STAGES_MAX]; /* read from `schedule` by check(); the first is `shares` */
    size_t stage_count;
    struct component components[COMPONENTS_MAX]; /* read from `shares` by check() */
    size_t count;
};

static const char *const OVERS[] = {"datasets", "labels", "ages", NULL};
static const char *const CHANGES[] = {"step", "linear", "loss", NULL};
static const char *const SHORTAGES[] = {"renormalise", "fewer", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(struct mixture, over, .choices = OVERS, .fallback = "datasets",
               .doc = "kind of the components"),
    CFG_NODE(struct mixture, shares, .required = true,
             .doc =
                 "a positive number per component, in proportion: {clicks: 3, views: 1}; of "
                 "labels: class names or numbers; of ages: {1d: 0.5, 7d: 0.3, older: 0.2}, up to "
                 "so much older than the newest candidate"),
    CFG_NODE(struct mixture, schedule,
             .doc = "other shares of the same components from some triggers on: "
                    "[{from: 5, shares: {clicks: 1, views: 1}}, ...]"),
    CFG_CHOICE(struct mixture, change, .choices = CHANGES, .fallback = "step",
               .doc =
                   "between two of them: step: all at once at the later one; linear: a little each "
                   "trigger. Without a schedule, loss: from trigger to trigger what training "
                   "reported a high loss of gets more, see the keys that follow"),
    CFG_KEY_AS("rate", CFG_KIND_F64, double, struct mixture, steering.rate, .fallback = "1",
               .max = 100, .doc = "by loss: a share is multiplied by e^(rate (its loss - mean))"),
    CFG_KEY_AS("smoothing", CFG_KIND_F64, double, struct mixture, steering.smoothing,
               .fallback = "0.1", .max = 1,
               .doc = "by loss: so much of `shares` is mixed in each time; no component dies out"),
    CFG_KEY_AS("short", CFG_KIND_CHOICE, int, struct mixture, shortage, .choices = SHORTAGES,
               .fallback = "renormalise",
               .doc = "a component has too few samples: the others fill up, or the set is smaller"),
    CFG_END,
};

static const struct cfg_key STAGE[] = {
    CFG_U64(struct stage, from, .required = true, .min = 2, .doc = "the first trigger with these"),
    CFG_NODE(struct stage, shares, .required = true, .doc = "as selection.shares"),
    CFG_END,
};

/* ---- reading ---- */

static bool find_name(const char *name, const char *const *names, size_t count, int64_t *ret_key)
{
    for (size_t i = 0; i < count; i++) {
        if (!weir_str_equal(names[i], name))
            continue;
        *ret_key = (int64_t)i;
        return true;
    }
    return false;
}

static bool read_number(const char *text, int64_t *ret_number)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *ret_number = value;
    return true;
}

static bool read_key(const struct mixture *own, const struct selection_scope *scope,
                     const char *name, int64_t *ret_key)
{
    if (own->over == OVER_DATASETS)
        return find_name(name, scope->datasets, scope->dataset_count, ret_key);
    if (own->over == OVER_LABELS)
        return find_name(name, scope->classes, scope->class_count, ret_key) ||
               (scope->class_count == 0 && read_number(name, ret_key));
    *ret_key = INT64_MAX;
    return weir_str_equal(name, "older") || (cfg_parse_duration(name, ret_key) && *ret_key > 0);
}

static bool read_share(const char *text, double *ret_share)
{
    char *end = NULL;
    *ret_share = text != NULL ? strtod(text, &end) : 0;
    return text != NULL && end != text && *end == '\0' && isfinite(*ret_share) && *ret_share > 0;
}

static bool follows(const struct mixture *own, int64_t key)
{
    for (size_t i = 0; i < own->count; i++)
        if (own->over == OVER_AGES ? own->components[i].key >= key : own->components[i].key == key)
            return false;
    return true;
}

static enum weir_status check_share(struct mixture *own, const struct selection_scope *scope,
                                    size_t index, struct weir_error *err)
{
    static const char *const EXPECTED[] = {"a dataset of this file", "a declared class or a label",
                                           "an age such as 1d, or older"};
    const char *name = weir_yaml_key(own->shares, index);
    const struct weir_yaml_node *value = weir_yaml_value(own->shares, index);
    const char *text = weir_yaml_text(value);
    struct component *next = &own->components[own->count];
    if (!read_key(own, scope, name, &next->key))
        return weir_yaml_fail(weir_yaml_key_node(own->shares, index), err,
                              "selection.shares: expected %s, found '%s'", EXPECTED[own->over],
                              name);
    if (!follows(own, next->key))
        return weir_yaml_fail(weir_yaml_key_node(own->shares, index), err,
                              "selection.shares: expected distinct components, ages ascending, "
                              "found '%s' again or too late",
                              name);
    if (!read_share(text, &next->share))
        return weir_yaml_fail(value, err,
                              "selection.shares.%s: expected a number above 0, found '%s'", name,
                              text != NULL ? text : "");
    own->count++;
    return WEIR_OK;
}

/* Every component has a share in every stage. */
static enum weir_status check_stage(const struct mixture *own, const struct selection_scope *scope,
                                    const struct weir_yaml_node *node, struct stage *stage,
                                    struct weir_error *err)
{
    struct mixture *other = weir_calloc(1, sizeof(*other));
    enum weir_status status =
        cfg_read(STAGE, CFG_CLOSED, node, "selection.schedule", NULL, stage, err);
    *other = (struct mixture){.over = own->over, .shares = stage->shares};
    size_t pairs = weir_yaml_is_mapping(stage->shares) ? weir_yaml_pairs(stage->shares) : 0;
    for (size_t i = 0; status == WEIR_OK && i < pairs && i < COMPONENTS_MAX; i++)
        status = check_share(other, scope, i, err);
    size_t found = 0;
    for (size_t c = 0; c < own->count; c++)
        for (size_t i = 0; i < other->count; i++)
            if (other->components[i].key == own->components[c].key) {
                stage->of[c] = other->components[i].share;
                found++;
            }
    if (status == WEIR_OK && (found != own->count || pairs != own->count))
        status = weir_yaml_fail(node, err,
                                "selection.schedule: expected a share for each of the %zu "
                                "components of selection.shares, and no other",
                                own->count);
    free(other);
    return status;
}

static enum weir_status check_schedule(struct mixture *own, const struct selection_scope *scope,
                                       struct weir_error *err)
{
    size_t length = own->schedule != NULL ? weir_yaml_length(own->schedule) : 0;
    own->stages[0] = (struct stage){.from = 1};
    for (size_t c = 0; c < own->count; c++)
        own->stages[0].of[c] = own->components[c].share;
    own->stage_count = 1;
    if (length >= STAGES_MAX)
        return weir_yaml_fail(own->schedule, err,
                              "selection.schedule: expected at most %d, found %zu", STAGES_MAX - 1,
                              length);
    for (size_t i = 0; i < length; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(own->schedule, i);
        struct stage *stage = &own->stages[own->stage_count];
        enum weir_status status = check_stage(own, scope, node, stage, err);
        if (status != WEIR_OK)
            return status;
        if (stage->from <= stage[-1].from)
            return weir_yaml_fail(node, err,
                                  "selection.schedule.from: expected triggers to ascend");
        own->stage_count++;
    }
    return WEIR_OK;
}

static enum weir_status check_change(const struct weir_yaml_node *section,
                                     const struct mixture *own, struct weir_error *err)
{
    if (own->change != CHANGE_LOSS)
        return WEIR_OK;
    if (own->over == OVER_AGES)
        return weir_yaml_fail(weir_yaml_get(section, "over"), err,
                              "selection.over: change: loss is for datasets and labels; samples "
                              "grow older from trigger to trigger, so ages have no loss that stays "
                              "theirs");
    if (own->schedule != NULL)
        return weir_yaml_fail(own->schedule, err,
                              "selection.schedule: expected none with change: loss, which sets the "
                              "shares itself");
    return WEIR_OK;
}

static enum weir_status check(const struct weir_yaml_node *section,
                              const struct selection_scope *scope, void *options,
                              struct weir_error *err)
{
    struct mixture *own = options;
    size_t pairs = weir_yaml_is_mapping(own->shares) ? weir_yaml_pairs(own->shares) : 0;
    if (pairs == 0 || pairs > COMPONENTS_MAX)
        return weir_yaml_fail(own->shares != NULL ? own->shares : section, err,
                              "selection.shares: expected 1 to %d components, for example "
                              "{clicks: 3, views: 1}",
                              COMPONENTS_MAX);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < pairs; i++)
        status = check_share(own, scope, i, err);
    if (status == WEIR_OK)
        status = check_change(section, own, err);
    return status != WEIR_OK ? status : check_schedule(own, scope, err);
}

static unsigned needs_of(const void *options)
{
    static const unsigned NEEDS[] = {SELECTION_NEEDS_IDS, SELECTION_NEEDS_LABELS,
                                     SELECTION_NEEDS_TIMES};
    const struct mixture *own = options;
    return NEEDS[own->over] | (own->change == CHANGE_LOSS ? SELECTION_NEEDS_LOSSES : 0);
}

/* ---- which component ---- */

static int64_t newest_of(const struct selection_input *input)
{
    int64_t newest = INT64_MIN;
    SELECTION_RUNS(input, run)
    for (size_t i = 0; run.times != NULL && i < run.count; i++)
        if (run.times[i] > newest)
            newest = run.times[i];
    return newest;
}

static uint32_t component_of(const struct mixture *own, int64_t key)
{
    for (size_t c = 0; c < own->count; c++)
        if (own->over == OVER_AGES ? key < own->components[c].key : key == own->components[c].key)
            return (uint32_t)c;
    return SELECTION_NO_GROUP;
}

static int64_t place_of(const struct selection_input *input, uint64_t dataset)
{
    for (size_t i = 0; i < input->dataset_count; i++)
        if (input->datasets[i] == dataset)
            return (int64_t)i;
    return -1;
}

/* Inputs of sorting candidates, beside the options. */
struct sorting {
    const struct mixture *own;
    const struct selection_input *input;
    int64_t newest;
};

static int64_t key_of(const struct sorting *sorting, const struct selection_run *run, size_t i)
{
    if (sorting->own->over == OVER_LABELS)
        return run->labels[i];
    if (sorting->own->over == OVER_DATASETS)
        return place_of(sorting->input, weir_sample_dataset(run->ids[i]));
    uint64_t age = (uint64_t)sorting->newest - (uint64_t)run->times[i];
    return age < INT64_MAX ? (int64_t)age : INT64_MAX - 1;
}

static uint32_t group_of(const struct selection_grouping *grouping, const struct selection_run *run,
                         size_t i)
{
    const struct sorting *sorting = grouping->owner;
    return component_of(sorting->own, key_of(sorting, run, i));
}

static void sort_out(const struct selection_grouping *grouping, const struct selection_input *input,
                     size_t *sizes)
{
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count; i++) {
        uint32_t group = grouping->of(grouping, &run, i);
        if (group != SELECTION_NO_GROUP)
            sizes[group]++;
    }
}

/* ---- what training said of each ---- */

static size_t components(const void *options, const char **names)
{
    const struct mixture *own = options;
    for (size_t c = 0; c < own->count; c++)
        names[c] = weir_yaml_key(own->shares, c);
    return own->count;
}

static size_t reported_of(const void *options, int64_t place, int64_t label)
{
    const struct mixture *own = options;
    uint32_t component = component_of(own, own->over == OVER_LABELS ? label : place);
    return component == SELECTION_NO_GROUP ? SIZE_MAX : component;
}

static void follow(struct mixture *own, const struct selection_losses *losses)
{
    double declared[COMPONENTS_MAX], shares[COMPONENTS_MAX];
    for (size_t c = 0; c < own->count; c++)
        declared[c] = own->components[c].share;
    selector_steer(&own->steering, losses, declared, own->count, shares);
    for (size_t c = 0; c < own->count; c++)
        own->components[c].share = shares[c];
}

static void say_loss(const struct selection_losses *losses, size_t c, char *why)
{
    if (losses->counts[c] > 0)
        (void)snprintf(why, SELECTION_WHY_MAX, "mean loss %.4g of %llu samples in training %s",
                       losses->sums[c] / (double)losses->counts[c],
                       (unsigned long long)losses->counts[c], losses->model);
    else if (losses->goes_on)
        (void)snprintf(why, SELECTION_WHY_MAX, "as before: no new losses of it");
    else
        (void)snprintf(why, SELECTION_WHY_MAX, "as declared: no losses of it yet");
}

static void tell(const struct mixture *own, const struct selection_input *input,
                 const size_t *sizes, const size_t *quotas, struct selection_output *output)
{
    double sum = 0;
    for (size_t c = 0; c < own->count; c++)
        sum += own->components[c].share;
    for (size_t c = 0; c < own->count; c++) {
        struct selection_component *reported = &output->components[c];
        *reported = (struct selection_component){.name = weir_yaml_key(own->shares, c),
                                                 .share = own->components[c].share / sum,
                                                 .samples = quotas[c],
                                                 .candidates = sizes[c]};
        if (own->change == CHANGE_LOSS)
            say_loss(input->losses, c, reported->why);
        else
            (void)snprintf(reported->why, sizeof(reported->why), "as %s",
                           own->stage_count > 1 ? "scheduled" : "declared");
    }
    output->component_count = own->count;
}

/* ---- how many of each ---- */

/* The shares at a trigger: a pure function of its number. */
static void schedule(struct mixture *own, uint64_t trigger)
{
    size_t s = own->stage_count - 1;
    while (s > 0 && own->stages[s].from > trigger)
        s--;
    const struct stage *now = &own->stages[s];
    bool between = own->change == CHANGE_LINEAR && s + 1 < own->stage_count;
    for (size_t c = 0; c < own->count; c++) {
        double part =
            between ? (double)(trigger - now->from) / (double)(now[1].from - now->from) : 0;
        double next = between ? now[1].of[c] : 0;
        own->components[c].share = now->of[c] * (1 - part) + next * part;
    }
}

static void share_out(const struct mixture *own, const struct selection_input *input,
                      const size_t *sizes, size_t *quotas)
{
    double shares[COMPONENTS_MAX];
    for (size_t c = 0; c < own->count; c++)
        shares[c] = own->components[c].share;
    const struct selection_shares wanted = {shares, sizes, own->count};
    if (!input->bounded)
        selector_shares_fit(&wanted, input->target, quotas);
    else if (own->shortage == SHORT_RENORMALISE)
        selector_shares_fill(&wanted, input->target, quotas);
    else
        selector_shares_cut(&wanted, input->target, quotas);
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    struct mixture *own = weir_calloc(1, sizeof(*own));
    *own = *(const struct mixture *)options;
    if (own->change == CHANGE_LOSS)
        follow(own, input->losses);
    else
        schedule(own, input->trigger);
    const struct sorting sorting = {own, input, newest_of(input)};
    size_t sizes[COMPONENTS_MAX] = {0};
    size_t quotas[COMPONENTS_MAX] = {0};
    const struct selection_grouping components = {
        .of = group_of, .owner = &sorting, .sizes = sizes, .count = own->count};
    sort_out(&components, input, sizes);
    share_out(own, input, sizes, quotas);
    tell(own, input, sizes, quotas, output);
    selector_groups_draw(&components, input, quotas, rng, output);
    free(own);
    if (output->count == 0)
        (void)snprintf(output->reason, sizeof(output->reason),
                       "a component of the mixture has no samples, and the others cannot keep "
                       "their shares without it");
}

static const struct selection_reported REPORTED = {
    .components = components,
    .component_of = reported_of,
};

const struct selection_policy selector_selection_mixture = {
    .name = "mixture",
    .summary = "shares of datasets, labels or slices of age: fixed, scheduled, or changing by loss",
    .options = OPTIONS,
    .options_size = sizeof(struct mixture),
    .check = check,
    .needs_of = needs_of,
    .reported = &REPORTED,
    .choose = choose,
};
