/* Reading a grid file: see grid.h. */
#include "orchestrator/comparing/grid.h"

#include "core/base/memory.h"
#include "core/base/path.h"
#include "orchestrator/comparing/overlay.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/values/name.h"
#include "orchestrator/values/period.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ORCHESTRATOR_GRID_AXES[GRID_AXES + 1] = {
    [GRID_TRIGGER] = "trigger",
    [GRID_SELECTION] = "selection",
    [GRID_PREPROCESS] = "preprocess",
    [GRID_TRAINING] = "training",
};

struct grid_section {
    const char *comparison;
    const struct weir_yaml_node *base, *axes, *cells, *judge, *baseline, *prices;
    struct cfg_texts seeds;
    uint64_t at_once;
};

static const struct cfg_key GRID_KEYS[] = {
    CFG_TEXT(struct grid_section, comparison, .required = true,
             .doc = "name: letters, digits, - and _; pipelines are called after it"),
    CFG_NODE(struct grid_section, base, .required = true,
             .doc = "pipeline file, beside the grid file, or the pipeline itself as a mapping"),
    CFG_NODE(struct grid_section, axes, .required = true,
             .doc =
                 "for trigger, selection, preprocess or training: sections by name. One that names "
                 "its policy, model or program takes the place of the pipeline's section, any "
                 "other is laid over it key by key (null takes a key out)"),
    CFG_TEXTS(struct grid_section, seeds,
              .doc = "a list, one cell for each; they take the place of selection.seed and "
                     "training.seed (default: those of the pipeline, once)"),
    CFG_NODE(struct grid_section, cells,
             .doc = "all (the default), or a list of mappings of axes to names; an axis that one "
                    "leaves out stands for each of its entries"),
    CFG_U64(struct grid_section, at_once, .fallback = "1", .min = 1, .max = GRID_AT_ONCE_MAX,
            .doc = "pipelines that run at once"),
    CFG_NODE(struct grid_section, judge, .required = true, .doc = "measure of quality"),
    CFG_NODE(struct grid_section, baseline,
             .doc = "the policy that the others are compared with, an entry of each axis (default: "
                    "the first)"),
    CFG_NODE(struct grid_section, prices,
             .doc = "prices as in a system file (default: those of the system file)"),
    CFG_END,
};

static const char *const BETTER[] = {"by_metric", "higher", "lower", NULL};
enum { BETTER_BY_METRIC, BETTER_HIGHER };

struct judge_section {
    const char *evaluation, *metric;
    const char *from, *until, *choose_from, *choose_until;
    int better;
};

static const struct cfg_key JUDGE_KEYS[] = {
    CFG_TEXT(struct judge_section, evaluation, .required = true,
             .doc = "name of an evaluation of the pipeline"),
    CFG_TEXT(struct judge_section, metric, .required = true,
             .doc = "one of its metrics, as reports call it"),
    CFG_TEXT(struct judge_section, from,
             .doc = "policies are judged on intervals from this time on (default: all)"),
    CFG_TEXT(struct judge_section, until, .doc = "and up to this time"),
    CFG_TEXT(struct judge_section, choose_from,
             .doc = "a policy is chosen on intervals from this time on (default: all)"),
    CFG_TEXT(struct judge_section, choose_until,
             .doc = "and up to this time, at most `from` (default: `from`)"),
    CFG_CHOICE(struct judge_section, better, .fallback = "by_metric", .choices = BETTER,
               .doc = "which values are better"),
    CFG_END,
};

bool orchestrator_grid_is(const struct weir_yaml_node *root)
{
    return weir_yaml_get(root, "comparison") != NULL;
}

char *orchestrator_grid_base_path(const char *file, const struct weir_yaml_node *root)
{
    const char *base = weir_yaml_text(weir_yaml_get(root, "base"));
    return base == NULL ? NULL : weir_path_beside(file, base);
}

/* ---- names ---- */

static enum weir_status check_name(const struct weir_yaml_node *at, const char *path,
                                   const char *name, struct weir_error *err)
{
    return orchestrator_is_name(name)
               ? WEIR_OK
               : weir_yaml_fail(at, err,
                                "%s: expected letters, digits, - or _, a letter or digit first, "
                                "found '%.80s'",
                                path, name);
}

/* ---- axes ---- */

/* GRID_AXES: the section is no axis. */
static size_t axis_of(const char *section)
{
    size_t axis = 0;
    while (axis < GRID_AXES && strcmp(ORCHESTRATOR_GRID_AXES[axis], section) != 0)
        axis++;
    return axis;
}

static enum weir_status check_axis(const struct comparison_grid *grid, size_t index,
                                   struct weir_error *err)
{
    const struct weir_yaml_node *key = weir_yaml_key_node(grid->axes, index);
    const struct weir_yaml_node *entries = weir_yaml_value(grid->axes, index);
    const char *axis = weir_yaml_key(grid->axes, index);
    if (axis_of(axis) == GRID_AXES)
        return cfg_unknown(key, "axes", "axis", ORCHESTRATOR_GRID_AXES, err);
    if (weir_yaml_pairs(entries) == 0)
        return weir_yaml_fail(key, err, "axes.%s: expected sections by name", axis);
    for (size_t i = 0; i < weir_yaml_pairs(entries); i++) {
        WEIR_AUTO_FREE char *path = weir_format("axes.%s", axis);
        enum weir_status status =
            check_name(weir_yaml_key_node(entries, i), path, weir_yaml_key(entries, i), err);
        if (status == WEIR_OK && !weir_yaml_is_mapping(weir_yaml_value(entries, i)))
            status = weir_yaml_fail(weir_yaml_key_node(entries, i), err,
                                    "%s.%s: expected a mapping, such as {policy: …}", path,
                                    weir_yaml_key(entries, i));
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

/* Each combination is looked at, in the loop of the orchestrator. */
static enum weir_status check_combinations(const struct comparison_grid *grid,
                                           struct weir_error *err)
{
    size_t count = 1;
    for (size_t i = 0; i < weir_yaml_pairs(grid->axes); i++) {
        count *= weir_yaml_pairs(weir_yaml_value(grid->axes, i));
        if (count > GRID_COMBINATIONS_MAX)
            return weir_yaml_fail(grid->axes, err,
                                  "axes: expected at most %d combinations of their entries",
                                  GRID_COMBINATIONS_MAX);
    }
    return WEIR_OK;
}

static enum weir_status check_axes(const struct comparison_grid *grid,
                                   const struct weir_yaml_node *root, struct weir_error *err)
{
    enum weir_status status =
        weir_yaml_pairs(grid->axes) > 0
            ? WEIR_OK
            : weir_yaml_fail(root, err,
                             "axes: expected trigger, selection, preprocess or training");
    for (size_t i = 0; status == WEIR_OK && i < weir_yaml_pairs(grid->axes); i++)
        status = check_axis(grid, i, err);
    return status == WEIR_OK ? check_combinations(grid, err) : status;
}

/* ---- policies ---- */

/* A mapping of axes to names: a policy, or several where it leaves axes out. */
static enum weir_status check_choice(const struct comparison_grid *grid,
                                     const struct weir_yaml_node *node, const char *path,
                                     bool is_whole, struct weir_error *err)
{
    if (!weir_yaml_is_mapping(node))
        return weir_yaml_fail(node, err, "%s: expected a mapping, such as {trigger: NAME}", path);
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        const char *axis = weir_yaml_key(node, i),
                   *entry = weir_yaml_text(weir_yaml_value(node, i));
        const struct weir_yaml_node *entries = weir_yaml_get(grid->axes, axis);
        if (entries == NULL)
            return weir_yaml_fail(weir_yaml_key_node(node, i), err,
                                  "%s: the grid has no axis '%.80s'", path, axis);
        if (entry == NULL || weir_yaml_get(entries, entry) == NULL)
            return weir_yaml_fail(weir_yaml_value(node, i), err,
                                  "%s.%s: expected the name of an entry of axes.%s", path, axis,
                                  axis);
    }
    if (is_whole && weir_yaml_pairs(node) < weir_yaml_pairs(grid->axes))
        return weir_yaml_fail(node, err, "%s: expected an entry of each axis", path);
    return WEIR_OK;
}

static bool is_chosen(const struct grid_policy *policy, const struct weir_yaml_node *choice)
{
    for (size_t i = 0; i < GRID_AXES; i++) {
        const char *wanted = weir_yaml_text(weir_yaml_get(choice, ORCHESTRATOR_GRID_AXES[i]));
        if (wanted != NULL && !weir_str_equal(wanted, policy->entries[i]))
            return false;
    }
    return true;
}

static bool is_wanted(const struct grid_policy *policy, const struct weir_yaml_node *cells)
{
    bool wants_all = cells == NULL || weir_yaml_is_scalar(cells);
    for (size_t i = 0; !wants_all && i < weir_yaml_length(cells); i++)
        if (is_chosen(policy, weir_yaml_at(cells, i)))
            return true;
    return wants_all;
}

static enum weir_status check_cells(const struct comparison_grid *grid,
                                    const struct weir_yaml_node *cells, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (weir_yaml_is_scalar(cells) && strcmp(weir_yaml_text(cells), "all") != 0)
        return weir_yaml_fail(cells, err, "cells: expected all, or a list of mappings");
    if (weir_yaml_is_scalar(cells))
        return WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < weir_yaml_length(cells); i++)
        status = check_choice(grid, weir_yaml_at(cells, i), "cells", false, err);
    return status;
}

static char *name_policy(const struct grid_policy *policy)
{
    WEIR_AUTO_BUF name = {0};
    for (size_t i = 0; i < GRID_AXES; i++)
        if (policy->entries[i] != NULL)
            weir_buf_printf(&name, "%s%s", name.size == 0 ? "" : "-", policy->entries[i]);
    return weir_strdup(weir_buf_text(&name));
}

/* Sets the entry of each axis that combination number `index` has; false: there is none of that number. */
static bool combine(const struct comparison_grid *grid, size_t index, struct grid_policy *policy)
{
    *policy = (struct grid_policy){.name = NULL};
    for (size_t i = GRID_AXES; i-- > 0;) { /* the last axis changes fastest */
        const struct weir_yaml_node *entries = weir_yaml_get(grid->axes, ORCHESTRATOR_GRID_AXES[i]);
        size_t count = weir_yaml_pairs(entries);
        if (count == 0)
            continue;
        policy->entries[i] = weir_yaml_key(entries, index % count);
        policy->values[i] = weir_yaml_value(entries, index % count);
        index /= count;
    }
    return index == 0;
}

static enum weir_status check_policy(const struct comparison_grid *grid,
                                     const struct grid_policy *policy, struct weir_error *err)
{
    for (size_t i = 0; i < grid->policy_count; i++)
        if (strcmp(grid->policies[i].name, policy->name) == 0)
            return weir_yaml_fail(grid->axes, err,
                                  "axes: two policies would be called '%.80s': rename an entry",
                                  policy->name);
    return grid->policy_count < GRID_POLICIES_MAX
               ? WEIR_OK
               : weir_yaml_fail(grid->axes, err, "axes: expected at most %d policies",
                                GRID_POLICIES_MAX);
}

static enum weir_status list_policies(struct comparison_grid *grid,
                                      const struct weir_yaml_node *cells, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    size_t capacity = 0;
    struct grid_policy policy;
    for (size_t i = 0; status == WEIR_OK && combine(grid, i, &policy); i++) {
        if (!is_wanted(&policy, cells))
            continue;
        policy.name = name_policy(&policy);
        status = check_policy(grid, &policy, err);
        if (status != WEIR_OK) {
            free(policy.name);
            break;
        }
        grid->policies =
            weir_grow(grid->policies, grid->policy_count, &capacity, sizeof(*grid->policies));
        grid->policies[grid->policy_count++] = policy;
    }
    if (status == WEIR_OK && grid->policy_count == 0)
        status = weir_yaml_fail(cells, err, "cells: expected one policy at least");
    return status;
}

static enum weir_status find_baseline(struct comparison_grid *grid,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    grid->baseline = &grid->policies[0];
    if (node == NULL || weir_yaml_is_null(node))
        return WEIR_OK;
    enum weir_status status = check_choice(grid, node, "baseline", true, err);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < grid->policy_count; i++) {
        grid->baseline = &grid->policies[i];
        if (is_chosen(grid->baseline, node))
            return WEIR_OK;
    }
    return weir_yaml_fail(node, err, "baseline: `cells` leaves this policy out");
}

static enum weir_status read_seeds(struct comparison_grid *grid, const struct cfg_texts *seeds,
                                   struct weir_error *err)
{
    if (seeds->count > GRID_SEEDS_MAX)
        return weir_yaml_fail(seeds->node, err, "seeds: expected at most %d", GRID_SEEDS_MAX);
    for (size_t i = 0; i < seeds->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(seeds->node, i);
        uint64_t seed = 0;
        if (!cfg_parse_u64(weir_yaml_text(node), &seed) || seed == 0 || seed > INT64_MAX)
            return weir_yaml_fail(node, err, "seeds: expected an integer >= 1, found '%.60s'",
                                  weir_yaml_text(node));
        for (size_t j = 0; j < grid->seed_count; j++)
            if (grid->seeds[j] == seed)
                return weir_yaml_fail(node, err, "seeds: %" PRIu64 " stands there twice", seed);
        grid->seeds[grid->seed_count++] = seed;
    }
    if (orchestrator_grid_cell_count(grid) > GRID_CELLS_MAX)
        return weir_yaml_fail(grid->axes, err, "axes: expected at most %d cells, found %zu",
                              GRID_CELLS_MAX, orchestrator_grid_cell_count(grid));
    return WEIR_OK;
}

/* ---- judge ---- */

static enum weir_status read_times(struct grid_judge *judge, const struct judge_section *section,
                                   const struct weir_yaml_node *node, struct weir_error *err)
{
    judge->from = judge->choose_from = INT64_MIN;
    judge->until = INT64_MAX;
    enum weir_status status =
        orchestrator_moment_read(node, "judge.from", section->from, &judge->from, err);
    judge->choose_until = judge->from;
    if (status == WEIR_OK)
        status = orchestrator_moment_read(node, "judge.until", section->until, &judge->until, err);
    if (status == WEIR_OK)
        status = orchestrator_moment_read(node, "judge.choose_from", section->choose_from,
                                          &judge->choose_from, err);
    if (status == WEIR_OK)
        status = orchestrator_moment_read(node, "judge.choose_until", section->choose_until,
                                          &judge->choose_until, err);
    if (status == WEIR_OK && judge->choose_until > judge->from)
        status = weir_yaml_fail(node, err,
                                "judge.choose_until: expected at most judge.from: a policy is "
                                "chosen on earlier intervals than it is judged on");
    return status;
}

static enum weir_status read_judge(struct comparison_grid *grid, const struct weir_yaml_node *node,
                                   int *ret_better, struct weir_error *err)
{
    struct judge_section section = {0};
    enum weir_status status = cfg_read(JUDGE_KEYS, CFG_CLOSED, node, "judge", NULL, &section, err);
    if (status != WEIR_OK)
        return status;
    grid->judge = (struct grid_judge){.evaluation = section.evaluation, .metric = section.metric};
    *ret_better = section.better;
    return read_times(&grid->judge, &section, node, err);
}

/* Finds the metric in a cell's pipeline. */
static enum weir_status check_judge(struct comparison_grid *grid,
                                    const struct orchestrator_config *config, int better,
                                    const struct weir_yaml_node *node, struct weir_error *err)
{
    struct grid_judge *judge = &grid->judge;
    const struct orchestrator_evaluation *evaluation =
        orchestrator_config_evaluation(config, judge->evaluation);
    if (evaluation == NULL)
        return weir_yaml_fail(weir_yaml_get(node, "evaluation"), err,
                              "judge.evaluation: the pipeline has no evaluation '%.80s'",
                              judge->evaluation);
    for (size_t i = 0; i < evaluation->metric_count; i++) {
        if (strcmp(orchestrator_metric_label(evaluation->metrics[i]), judge->metric) != 0)
            continue;
        judge->higher_is_better =
            better == BETTER_BY_METRIC
                ? orchestrator_metric_of(evaluation->metrics[i])->higher_is_better
                : better == BETTER_HIGHER;
        return WEIR_OK;
    }
    return weir_yaml_fail(weir_yaml_get(node, "metric"), err,
                          "judge.metric: evaluation '%.80s' has no metric '%.80s'",
                          judge->evaluation, judge->metric);
}

/* ---- pipelines ---- */

/* Splits "FILE:7:2: reason"; line 0: there is no such place. */
static unsigned line_of(const char *line, const char **ret_reason)
{
    for (const char *colon = strchr(line, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        unsigned number = 0, column = 0;
        int size = 0;
        if (sscanf(colon, ":%u:%u: %n", &number, &column, &size) == 2 && size > 0) {
            *ret_reason = colon + size;
            return number;
        }
    }
    *ret_reason = line;
    return 0;
}

/* Each section of a cell's text is a line, in the order of the base. */
void orchestrator_grid_note_cell(const struct comparison_grid *grid, size_t cell, const char *line,
                                 struct cfg_complaints *complaints)
{
    const struct grid_policy *policy = orchestrator_grid_policy_of(grid, cell);
    const char *reason = NULL;
    unsigned number = line_of(line, &reason);
    const char *section = number > 0 ? weir_yaml_key(grid->base, number - 1) : NULL;
    size_t axis = section == NULL ? GRID_AXES : axis_of(section);
    int size = (int)strcspn(reason, "\n");
    if (axis < GRID_AXES && policy->values[axis] != NULL)
        cfg_note_at(complaints, WEIR_INVALID, policy->values[axis], "axes.%s.%s: %.*s", section,
                    policy->entries[axis], size, reason);
    else
        cfg_note_at(complaints, WEIR_INVALID,
                    section != NULL ? weir_yaml_key_node(grid->base, number - 1)
                                    : weir_yaml_get(weir_yaml_root(grid->document), "base"),
                    "%.*s", size, reason);
}

/* Checks what the orchestrator reads of each policy's pipeline, with the first seed. */
static void check_pipelines(struct comparison_grid *grid, int better,
                            const struct weir_yaml_node *judge, struct cfg_complaints *complaints)
{
    for (size_t i = 0; i < orchestrator_grid_cell_count(grid); i += orchestrator_grid_seeds(grid)) {
        WEIR_AUTO(orchestrator_config) config = NULL;
        WEIR_AUTO_BUF text = {0};
        struct weir_error err;
        orchestrator_grid_cell_text(grid, i, &text);
        if (orchestrator_config_parse("cell", weir_buf_view(&text), &config, &err) != WEIR_OK) {
            orchestrator_grid_note_cell(grid, i, err.text, complaints);
            continue;
        }
        if (config->mode != MODE_REPLAY)
            cfg_note_at(complaints, WEIR_INVALID, weir_yaml_get(grid->base, "pipeline"),
                        "pipeline.mode: expected replay: a comparison ends");
        cfg_note(complaints, check_judge(grid, config, better, judge, &err), &err);
    }
}

/* ---- the file ---- */

static enum weir_status read_base(struct comparison_grid *grid, const struct grid_files *files,
                                  const struct weir_yaml_node *node, struct weir_error *err)
{
    if (weir_yaml_is_mapping(node)) {
        grid->base = node;
        return WEIR_OK;
    }
    if (weir_yaml_text(node) == NULL)
        return weir_yaml_fail(node, err, "base: expected a pipeline file, or a mapping");
    enum weir_status status =
        weir_yaml_parse(files->base_file, files->base_text, &grid->base_document, err);
    if (status != WEIR_OK)
        return status;
    grid->base = weir_yaml_root(grid->base_document);
    return weir_yaml_is_mapping(grid->base)
               ? WEIR_OK
               : weir_yaml_fail(grid->base, err, "expected a pipeline file, found no mapping");
}

static enum weir_status read_prices(struct comparison_grid *grid, const struct weir_yaml_node *node,
                                    struct weir_error *err)
{
    grid->has_prices = node != NULL && !weir_yaml_is_null(node);
    return cfg_read(ORCHESTRATOR_PRICE_KEYS, CFG_CLOSED, node, "prices", NULL, &grid->prices, err);
}

/* Notes what is wrong with the policies; false: there are none to go on with. */
static bool read_policies(struct comparison_grid *grid, const struct weir_yaml_node *root,
                          const struct grid_section *section, struct cfg_complaints *complaints)
{
    struct weir_error err;
    return cfg_note(complaints, check_axes(grid, root, &err), &err) &&
           cfg_note(complaints, check_cells(grid, section->cells, &err), &err) &&
           cfg_note(complaints, list_policies(grid, section->cells, &err), &err) &&
           cfg_note(complaints, find_baseline(grid, section->baseline, &err), &err) &&
           cfg_note(complaints, read_seeds(grid, &section->seeds, &err), &err);
}

static void read_grid(struct comparison_grid *grid, const struct grid_files *files,
                      struct cfg_complaints *complaints)
{
    struct weir_error err;
    struct grid_section section = {0};
    const struct weir_yaml_node *root = weir_yaml_root(grid->document);
    int better = BETTER_BY_METRIC;
    if (!cfg_note(complaints, cfg_read(GRID_KEYS, CFG_CLOSED, root, "", NULL, &section, &err),
                  &err))
        return;
    grid->name = section.comparison;
    grid->axes = section.axes;
    grid->at_once = section.at_once;
    cfg_note(complaints,
             check_name(weir_yaml_get(root, "comparison"), "comparison", grid->name, &err), &err);
    bool has_prices = cfg_note(complaints, read_prices(grid, section.prices, &err), &err);
    bool has_judge = cfg_note(complaints, read_judge(grid, section.judge, &better, &err), &err);
    bool has_base = cfg_note(complaints, read_base(grid, files, section.base, &err), &err);
    bool has_policies = read_policies(grid, root, &section, complaints);
    if (has_prices && has_judge && has_base && has_policies)
        check_pipelines(grid, better, section.judge, complaints);
}

struct comparison_grid *orchestrator_grid_complain(const struct grid_files *files,
                                                   struct cfg_complaints *complaints)
{
    struct weir_error err;
    WEIR_AUTO(comparison_grid) grid = weir_calloc(1, sizeof(*grid));
    if (cfg_note(complaints, weir_yaml_parse(files->file, files->text, &grid->document, &err),
                 &err))
        read_grid(grid, files, complaints);
    return complaints->status == WEIR_OK ? WEIR_TAKE(grid) : NULL;
}

enum weir_status orchestrator_grid_parse(const struct grid_files *files,
                                         struct comparison_grid **ret_grid, struct weir_error *err)
{
    CFG_AUTO_COMPLAINTS complaints = {0};
    *ret_grid = orchestrator_grid_complain(files, &complaints);
    return cfg_complaints_end(&complaints, err);
}

void orchestrator_grid_free(struct comparison_grid *grid)
{
    if (grid == NULL)
        return;
    for (size_t i = 0; i < grid->policy_count; i++)
        free(grid->policies[i].name);
    free(grid->policies);
    weir_yaml_free(grid->base_document);
    weir_yaml_free(grid->document);
    free(grid);
}

/* ---- cells ---- */

size_t orchestrator_grid_seeds(const struct comparison_grid *grid)
{
    return grid->seed_count == 0 ? 1 : grid->seed_count;
}

size_t orchestrator_grid_cell_count(const struct comparison_grid *grid)
{
    return grid->policy_count * orchestrator_grid_seeds(grid);
}

const struct grid_policy *orchestrator_grid_policy_of(const struct comparison_grid *grid,
                                                      size_t cell)
{
    return &grid->policies[cell / orchestrator_grid_seeds(grid)];
}

uint64_t orchestrator_grid_seed_of(const struct comparison_grid *grid, size_t cell)
{
    return grid->seed_count == 0 ? 0 : grid->seeds[cell % grid->seed_count];
}

void orchestrator_grid_cell_name(const struct comparison_grid *grid, size_t cell,
                                 struct weir_buf *out)
{
    uint64_t seed = orchestrator_grid_seed_of(grid, cell);
    weir_buf_append_text(out, orchestrator_grid_policy_of(grid, cell)->name);
    if (seed != 0)
        weir_buf_printf(out, "-s%" PRIu64, seed);
}

static const struct weir_yaml_node *overlay_of(const struct grid_policy *policy,
                                               const char *section)
{
    size_t axis = axis_of(section);
    return axis < GRID_AXES ? policy->values[axis] : NULL;
}

static bool has_seed(const char *section)
{
    return strcmp(section, "selection") == 0 || strcmp(section, "training") == 0;
}

void orchestrator_grid_cell_text(const struct comparison_grid *grid, size_t cell,
                                 struct weir_buf *out)
{
    const struct grid_policy *policy = orchestrator_grid_policy_of(grid, cell);
    uint64_t seed = orchestrator_grid_seed_of(grid, cell);
    WEIR_AUTO_BUF name = {0};
    WEIR_AUTO_FREE char *seed_text = weir_format("%" PRIu64, seed);
    weir_buf_printf(&name, "%s-", grid->name);
    orchestrator_grid_cell_name(grid, cell, &name);
    for (size_t i = 0; i < weir_yaml_pairs(grid->base); i++) {
        const char *section = weir_yaml_key(grid->base, i);
        struct overlay overlay = {.below = weir_yaml_value(grid->base, i),
                                  .above = overlay_of(policy, section)};
        if (strcmp(section, "pipeline") == 0)
            overlay.key = "name", overlay.value = weir_buf_text(&name);
        else if (seed != 0 && has_seed(section))
            overlay.key = "seed", overlay.value = seed_text;
        weir_yaml_print_text(section, out);
        weir_buf_append_text(out, ": ");
        orchestrator_overlay_print(&overlay, out);
        weir_buf_append_text(out, "\n");
    }
}

bool orchestrator_grid_is_first_of_entry(const struct comparison_grid *grid, size_t cell)
{
    const struct grid_policy *policy = orchestrator_grid_policy_of(grid, cell);
    if (cell % orchestrator_grid_seeds(grid) != 0)
        return false;
    for (size_t i = 0; i < GRID_AXES; i++) {
        bool is_known = policy->entries[i] == NULL;
        for (const struct grid_policy *before = grid->policies; before < policy; before++)
            is_known = is_known || before->values[i] == policy->values[i];
        if (!is_known)
            return true;
    }
    return false;
}

uint64_t orchestrator_grid_batch_of(const struct comparison_grid *grid, size_t cell)
{
    const struct weir_yaml_node *above =
        weir_yaml_get(overlay_of(orchestrator_grid_policy_of(grid, cell), "preprocess"), "batch");
    const struct weir_yaml_node *below =
        weir_yaml_get(weir_yaml_get(grid->base, "preprocess"), "batch");
    uint64_t samples = 256; /* as preprocess/plan/options.c has it where nothing is said */
    const char *text = weir_yaml_text(weir_yaml_get(above != NULL ? above : below, "samples"));
    if (text != NULL)
        (void)cfg_parse_u64(text, &samples);
    return samples;
}

void orchestrator_grid_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "# The grid file\n\nRead by `weir compare`. Generated from the key "
                              "tables in the code.\n\n");
    cfg_document(GRID_KEYS, out);
    weir_buf_append_text(out, "\n## judge\n\n");
    cfg_document(JUDGE_KEYS, out);
}
