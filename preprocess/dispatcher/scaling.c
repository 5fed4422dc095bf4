/* See scaling.h. */
#include "preprocess/dispatcher/scaling.h"

#include "core/base/memory.h"
#include "core/base/program.h"
#include "preprocess/dispatcher/pool.h"
#include "preprocess/scale/rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void preprocess_scaling_job_fini(struct scaling_job *job)
{
    preprocess_spans_fini(&job->spans);
    free(job->state);
    weir_buf_fini(&job->kept);
    free(job->opened.memory);
    *job = (struct scaling_job){0};
}

static void forget_drains(struct scaling *scaling)
{
    for (size_t i = 0; i < scaling->drain_count; i++)
        free(scaling->drains[i]);
    free(scaling->drains);
    scaling->drains = NULL;
    scaling->drain_count = 0;
}

void preprocess_scaling_fini(struct scaling *scaling)
{
    forget_drains(scaling);
}

/* ---- orders ---- */

static bool is_price(double price)
{
    return isfinite(price) && price >= 0;
}

static enum weir_status check(const struct msg_pool_order *order, struct weir_error *err)
{
    if (!is_price(order->trainer_hour) || !is_price(order->worker_hour) ||
        !is_price(order->host_hour))
        return weir_fail(err, WEIR_INVALID,
                         "pool_order: found prices of %g, %g and %g, expected none below 0",
                         order->trainer_hour, order->worker_hour, order->host_hour);
    if (order->drains.count > POOL_WORKERS_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "pool_order: found %zu names of workers, expected at most %d",
                         order->drains.count, POOL_WORKERS_MAX);
    return WEIR_OK;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void take_drains(struct scaling *scaling, const struct weir_strs *names)
{
    forget_drains(scaling);
    scaling->drains = weir_calloc(names->count + 1, sizeof(*scaling->drains));
    for (size_t i = 0; i < names->count; i++)
        scaling->drains[i] = weir_strdup(names->at[i]);
    scaling->drain_count = names->count;
    qsort(scaling->drains, names->count, sizeof(*scaling->drains), by_name);
}

enum weir_status preprocess_scaling_order(struct scaling *scaling,
                                          const struct msg_pool_order *order,
                                          struct weir_error *err)
{
    enum weir_status status = check(order, err);
    if (status != WEIR_OK)
        return status;
    scaling->is_ordered = true;
    scaling->bounds = (struct division_bounds){.min = order->min, .max = order->max};
    scaling->prices.trainer_hour = order->trainer_hour;
    scaling->prices.worker_hour[SCALE_POOL] = order->worker_hour;
    scaling->prices.worker_hour[SCALE_HOST] = order->host_hour;
    scaling->host_max = order->host_max;
    take_drains(scaling, &order->drains);
    return WEIR_OK;
}

bool preprocess_scaling_drains(const struct scaling *scaling, const char *name)
{
    return scaling->drain_count > 0 && bsearch(&name, scaling->drains, scaling->drain_count,
                                               sizeof(*scaling->drains), by_name) != NULL;
}

/* ---- jobs ---- */

enum weir_status preprocess_scaling_open(const struct weir_yaml_node *node, struct scaling_job *job,
                                         struct weir_error *err)
{
    job->policy = preprocess_scale_policy_find("rates");
    if (node == NULL)
        return WEIR_OK;
    enum weir_status status = cfg_plugin_open(&PREPROCESS_SCALE_POLICIES, NULL, node,
                                              "preprocess.plan.policy", &job->opened, err);
    if (status == WEIR_OK)
        job->policy = preprocess_scale_policy_find(job->opened.plugin->name);
    return status;
}

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

struct scale_setting preprocess_scaling_setting(const struct scaling *scaling,
                                                const struct scaling_job *job, uint32_t min,
                                                uint32_t max)
{
    struct scale_setting setting = scaling->prices;
    setting.options = job->opened.options;
    uint32_t most = max > 0 ? lower(max, SCALE_WORKERS_MAX) : SCALE_WORKERS_MAX;
    if (scaling->is_ordered)
        most = lower(most, scaling->bounds.max);
    setting.max.at[SCALE_POOL] = most;
    setting.min.at[SCALE_POOL] = lower(min > 0 ? min : 1, most);
    setting.max.at[SCALE_HOST] = lower(scaling->host_max, SCALE_WORKERS_MAX);
    return setting;
}

/* In front of the state of the policy and the model. Memory as it is: only the program that kept it reads it. */
struct kept {
    struct weir_digest program;
    char policy[32];
    uint64_t reports;
    double wanted, made, stalled;
    double need;
    uint32_t size[SCALE_PLACES];
    uint64_t is_settled;
};

void preprocess_scaling_keep(const struct scaling_job *job, struct weir_buf *out)
{
    const struct scale_decision *decision = &job->decision;
    struct kept kept = {
        .reports = job->reports,
        .wanted = job->wanted,
        .made = job->made,
        .stalled = job->stalled,
        .need = decision->need,
        .size = {decision->size.at[SCALE_POOL], decision->size.at[SCALE_HOST]},
        .is_settled = decision->is_settled,
    };
    if (job->state == NULL || !weir_program_identify(&kept.program))
        return;
    (void)snprintf(kept.policy, sizeof(kept.policy), "%s", job->policy->name);
    weir_buf_append(out, &kept, sizeof(kept));
    weir_buf_append(out, job->state, job->policy->state_size);
    preprocess_model_keep(&job->model, out);
}

static uint32_t within(uint32_t size, const struct scale_setting *setting, enum scale_place place)
{
    uint32_t least = setting->min.at[place], most = setting->max.at[place];
    return size < least ? least : lower(size, most);
}

/* True: it was kept by this program, of this policy. */
static bool is_ours(const struct kept *kept, const struct scale_policy *policy)
{
    struct weir_digest program;
    return weir_program_identify(&program) &&
           memcmp(&kept->program, &program, sizeof(program)) == 0 &&
           strncmp(kept->policy, policy->name, sizeof(kept->policy)) == 0;
}

/* Nothing changes unless all of it is there. */
static void take_up(struct scaling_job *job, const struct scale_setting *setting)
{
    struct kept kept;
    size_t known = sizeof(kept) + job->policy->state_size;
    const struct weir_bytes whole = weir_buf_view(&job->kept);
    if (whole.size < known)
        return;
    memcpy(&kept, whole.at, sizeof(kept));
    if (!is_ours(&kept, job->policy) ||
        !preprocess_model_take_up(&job->model, weir_bytes(whole.at + known, whole.size - known)))
        return;
    memcpy(job->state, whole.at + sizeof(kept), job->policy->state_size);
    job->reports = job->reports_before = kept.reports;
    job->wanted = kept.wanted;
    job->made = kept.made;
    job->stalled = kept.stalled;
    job->decision = (struct scale_decision){
        .need = kept.need, .why = "resumed", .is_settled = kept.is_settled != 0};
    for (enum scale_place place = 0; place < SCALE_PLACES; place++)
        job->decision.size.at[place] = within(kept.size[place], setting, place);
}

bool preprocess_scaling_begin(struct scaling_job *job, const struct scale_setting *setting)
{
    if (job->state != NULL)
        return false;
    job->state = weir_calloc(1, job->policy->state_size);
    job->setting = *setting;
    job->policy->begin(job->state, setting, &job->decision);
    take_up(job, setting);
    return true;
}

double preprocess_scaling_need(const struct scaling_job *job)
{
    const struct scale_decision *decision = &job->decision;
    bool is_bounded = decision->size.at[SCALE_POOL] >= job->setting.max.at[SCALE_POOL];
    double by_rates = job->made > 0 ? job->wanted / job->made : 0;
    return is_bounded && by_rates > decision->need ? by_rates : decision->need;
}

void preprocess_scaling_report(struct scaling_job *job, const struct scale_setting *setting,
                               const struct scale_report *report)
{
    job->setting = *setting;
    job->policy->report(job->state, setting, report, &job->decision);
    preprocess_model_report(&job->model, report);
    job->wanted = preprocess_scale_wanted(report);
    job->made = preprocess_scale_made(report, SCALE_POOL);
    job->stalled = preprocess_scale_stall(report);
    job->reports++;
    job->is_unsaved = true;
}
