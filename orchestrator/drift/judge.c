/* Statistics and criteria put together: see judge.h. */
#include "orchestrator/drift/judge.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const CORRECTIONS[] = {"bonferroni", "fdr", NULL};

/* Options of every statistic; its own lie after them. */
struct shared_options {
    const char *name;
    int correction;
    const struct weir_yaml_node *criterion;
};

static const struct cfg_key SHARED[] = {
    CFG_TEXT(struct shared_options, name, .required = true, .doc = "name of the statistic"),
    CFG_CHOICE(struct shared_options, correction, .fallback = "bonferroni", .choices = CORRECTIONS,
               .doc = "correction that makes one p-value of those of several features"),
    CFG_NODE(struct shared_options, criterion,
             .doc =
                 "distance or p-value at which it fires; by default p_value, where there is one"),
    CFG_END,
};

struct member {
    const struct drift_statistic *statistic;
    struct shared_options *shared; /* owned, `options` with it */
    const void *options;
    struct criterion *criterion;
};

struct drift_judge {
    struct member members[DRIFT_STATISTICS_MAX];
    size_t count, needed;
    struct weir_yaml *fallback; /* of a criterion that is not given */
};

/* ---- opening ---- */

static enum weir_status open_criterion(struct drift_judge *judge, struct member *member,
                                       const struct weir_yaml_node *node, const char *path,
                                       struct weir_error *err)
{
    const struct weir_yaml_node *given = member->shared->criterion;
    if (given == NULL && !member->statistic->has_p_value) {
        return weir_yaml_fail(
            node, err, "%s: %s: expected a criterion such as {policy: threshold, value: 0.1}", path,
            member->statistic->name);
    }
    if (given == NULL)
        given = weir_yaml_root(judge->fallback);
    enum weir_status status = orchestrator_criterion_open(given, path, &member->criterion, err);
    if (status == WEIR_OK && orchestrator_criterion_kind(member->criterion)->wants_p_value &&
        !member->statistic->has_p_value)
        return weir_yaml_fail(given, err, "%s: %s has no p-value: expected another criterion", path,
                              member->statistic->name);
    return status;
}

static enum weir_status open_member(struct drift_judge *judge, const struct weir_yaml_node *node,
                                    bool labels, const char *path, struct weir_error *err)
{
    struct member *member = &judge->members[judge->count];
    const struct cfg_shared shared = {SHARED, sizeof(struct shared_options)};
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&ORCHESTRATOR_DRIFT_STATISTICS, &shared, node, path, &opened, err);
    if (status != WEIR_OK)
        return status;
    judge->count++;
    member->statistic = (const struct drift_statistic *)opened.plugin;
    member->shared = opened.memory;
    member->options = opened.options;
    if (labels && !member->statistic->takes_labels)
        return weir_yaml_fail(node, err, "%s: %s compares numbers: expected a statistic of classes",
                              path, member->statistic->name);
    return open_criterion(judge, member, node, path, err);
}

static enum weir_status read_votes(struct drift_judge *judge, const struct weir_yaml_node *node,
                                   const char *votes, const char *path, struct weir_error *err)
{
    char *end = NULL;
    if (votes == NULL || strcmp(votes, "majority") == 0) {
        judge->needed = judge->count / 2 + 1;
        return WEIR_OK;
    }
    judge->needed = strtoul(votes, &end, 10);
    if (*end != '\0' || judge->needed == 0 || judge->needed > judge->count) {
        return weir_yaml_fail(node, err,
                              "%s.votes: expected majority or a number from 1 to %zu, found '%s'",
                              path, judge->count, votes);
    }
    return WEIR_OK;
}

enum weir_status orchestrator_judge_open(const struct weir_yaml_node *statistics, const char *votes,
                                         bool labels, const char *path,
                                         struct drift_judge **ret_judge, struct weir_error *err)
{
    size_t count = weir_yaml_length(statistics);
    if (count == 0 || count > DRIFT_STATISTICS_MAX) {
        return weir_yaml_fail(statistics, err,
                              "%s.statistics: expected 1 to %d statistics, found %zu", path,
                              DRIFT_STATISTICS_MAX, count);
    }
    WEIR_AUTO(drift_judge) judge = weir_calloc(1, sizeof(*judge));
    WEIR_AUTO_FREE char *place = weir_format("%s.statistics", path);
    enum weir_status status =
        weir_yaml_parse("criterion", weir_bytes_of("{policy: p_value}"), &judge->fallback, err);
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = open_member(judge, weir_yaml_at(statistics, i), labels, place, err);
    if (status == WEIR_OK)
        status = read_votes(judge, statistics, votes, path, err);
    if (status == WEIR_OK)
        *ret_judge = WEIR_TAKE(judge);
    return status;
}

void orchestrator_judge_close(struct drift_judge *judge)
{
    if (judge == NULL)
        return;
    for (size_t i = 0; i < judge->count; i++) {
        free(judge->members[i].shared);
        orchestrator_criterion_close(judge->members[i].criterion);
    }
    weir_yaml_free(judge->fallback);
    free(judge);
}

const struct drift_statistic *orchestrator_judge_statistic(const struct drift_judge *judge,
                                                           size_t index)
{
    return judge->members[index].statistic;
}

/* ---- deciding ---- */

void orchestrator_judge_measure(const struct drift_judge *judge, const struct drift_input *input,
                                struct drift_findings *ret_findings)
{
    *ret_findings = (struct drift_findings){.count = judge->count, .needed = judge->needed};
    for (size_t i = 0; i < judge->count; i++) {
        const struct member *member = &judge->members[i];
        const struct drift_request asked = {.statistic = member->statistic,
                                            .options = member->options,
                                            .correction =
                                                (enum drift_correction)member->shared->correction};
        struct drift_finding *finding = &ret_findings->of[i];
        struct drift_score score;
        struct drift_input wanted = *input;
        *finding = (struct drift_finding){.distance = NAN, .p_value = NAN, .limit = NAN};
        wanted.p_value = orchestrator_criterion_kind(member->criterion)->wants_p_value;
        if (orchestrator_drift_measure(&asked, &wanted, &score)) {
            finding->distance = score.distance;
            finding->p_value = score.p_value;
        }
    }
}

const struct drift_statistic *orchestrator_judge_moved(const struct drift_judge *judge,
                                                       const struct drift_input *input,
                                                       struct drift_moved *ret_moved,
                                                       size_t *ret_count)
{
    struct drift_request by = {.statistic = orchestrator_drift_find("ks")}; /* it has no options */
    for (size_t i = 0; i < judge->count; i++) {
        const struct member *member = &judge->members[i];
        if (member->statistic->measure_feature == NULL)
            continue;
        by = (struct drift_request){.statistic = member->statistic, .options = member->options};
        break;
    }
    *ret_count = orchestrator_drift_measure_each(&by, input, ret_moved);
    return by.statistic;
}

static struct criterion_value value_of(const struct drift_finding *finding)
{
    return (struct criterion_value){.value = finding->distance, .p_value = finding->p_value};
}

void orchestrator_judge_decide(struct drift_judge *judge, struct drift_findings *findings)
{
    findings->votes = 0;
    for (size_t i = 0; i < judge->count; i++) {
        struct drift_finding *finding = &findings->of[i];
        const struct criterion_value value = value_of(finding);
        struct criterion *criterion = judge->members[i].criterion;
        struct criterion_verdict verdict = orchestrator_criterion_judge(criterion, &value);
        finding->limit = verdict.limit;
        finding->fires = verdict.fires;
        finding->by_p_value = orchestrator_criterion_kind(criterion)->wants_p_value;
        findings->votes += verdict.fires;
    }
    findings->needed = judge->needed;
    findings->fires = findings->votes >= findings->needed;
}

void orchestrator_judge_learn(struct drift_judge *judge, const struct drift_findings *findings)
{
    for (size_t i = 0; i < judge->count; i++) {
        const struct criterion_value value = value_of(&findings->of[i]);
        orchestrator_criterion_learn(judge->members[i].criterion, &value);
    }
}

static void explain_one(const struct drift_statistic *statistic,
                        const struct drift_finding *finding, struct weir_buf *out)
{
    double value = finding->by_p_value ? finding->p_value : finding->distance;
    weir_buf_printf(out, "%s ", statistic->name);
    if (isnan(finding->distance)) {
        weir_buf_append_text(out, "has no score");
        return;
    }
    if (finding->by_p_value)
        weir_buf_printf(out, "%.4g, p ", finding->distance);
    weir_buf_printf(out, "%.4g", value);
    if (isnan(finding->limit))
        weir_buf_append_text(out, " (the first)");
    else if (finding->fires)
        weir_buf_printf(out, " %s %.4g", finding->by_p_value ? "<" : ">=", finding->limit);
    else
        weir_buf_printf(out, " (limit %.4g)", finding->limit);
}

void orchestrator_judge_explain(const struct drift_judge *judge,
                                const struct drift_findings *findings, struct weir_buf *out)
{
    for (size_t i = 0; i < judge->count; i++) {
        weir_buf_append_text(out, i == 0 ? "" : ", ");
        explain_one(judge->members[i].statistic, &findings->of[i], out);
    }
    if (judge->count > 1)
        weir_buf_printf(out, ": %zu votes, %zu needed", findings->votes, findings->needed);
}

/* ---- saved and shown ---- */

void orchestrator_judge_save(const struct drift_judge *judge, struct weir_buf *out)
{
    for (size_t i = 0; i < judge->count; i++)
        orchestrator_criterion_save(judge->members[i].criterion, out);
}

enum weir_status orchestrator_judge_restore(struct drift_judge *judge, struct weir_bytes *bytes,
                                            struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < judge->count && status == WEIR_OK; i++)
        status = orchestrator_criterion_restore(judge->members[i].criterion, bytes, err);
    return status;
}

static void describe_statistic(const struct drift_statistic *statistic, struct weir_buf *out)
{
    weir_buf_printf(out, "\n#### statistics: %s\n\n%s. %s%s\n", statistic->name, statistic->summary,
                    statistic->takes_labels ? "Of numbers and of classes" : "Of numbers",
                    statistic->has_p_value ? "; with a p-value." : ".");
    if (statistic->options->name == NULL)
        return;
    weir_buf_append_text(out, "\n");
    cfg_document(statistic->options, out);
}

void orchestrator_judge_describe(struct weir_buf *out)
{
    weir_buf_append_text(out,
                         "\n### statistics\n\nA list; `name` alone is enough where nothing else "
                         "is said.\n\n");
    cfg_document(SHARED, out);
    for (size_t i = 0; i < orchestrator_drift_count(); i++)
        describe_statistic(orchestrator_drift_at(i), out);
    cfg_registry_document(&ORCHESTRATOR_CRITERIA, "#### criterion.policy", out);
}
