/* A job without chance for tests of scaling policies: what a batch takes is said report by report. */
#ifndef TESTS_SCALE_JOB_H
#define TESTS_SCALE_JOB_H

#include "core/base/memory.h"
#include "preprocess/scale/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct scale_job {
    struct scale_setting setting;
    const struct scale_policy *policy;
    struct scale_decision decision;
    struct cfg_opened opened;
    void *state;
    double batches; /* of a report */
    double queued;
};

/* Begins with the policy of a section such as "{policy: cachew, threshold_up: 0.03}". */
static inline void scale_job_begin(struct scale_job *job, const char *section)
{
    struct weir_yaml *yaml = NULL;
    struct weir_error err;
    assert_int_equal(weir_yaml_parse("test", weir_bytes_of(section), &yaml, &err), WEIR_OK);
    assert_int_equal(cfg_plugin_open(&PREPROCESS_SCALE_POLICIES, NULL, weir_yaml_root(yaml), "plan",
                                     &job->opened, &err),
                     WEIR_OK);
    weir_yaml_free(yaml);
    job->policy = (const struct scale_policy *)job->opened.plugin;
    job->setting.options = job->opened.options;
    job->state = weir_calloc(1, job->policy->state_size);
    job->policy->begin(job->state, &job->setting, &job->decision);
}

static inline void scale_job_end(struct scale_job *job)
{
    free(job->state);
    free(job->opened.memory);
}

static inline uint32_t scale_job_pool(const struct scale_job *job)
{
    return job->decision.size.at[SCALE_POOL];
}

static inline uint32_t scale_job_host(const struct scale_job *job)
{
    return job->decision.size.at[SCALE_HOST];
}

/* Reports `job->batches` of the workers that were decided, each of which took `batch_s`; returns why it decided so. */
static inline const char *scale_job_report(struct scale_job *job, double batch_s)
{
    struct scale_taker taker = {.batches = job->batches, .queued = job->queued};
    struct scale_report report = {
        .span_s = job->batches * batch_s,
        .workers = {scale_job_pool(job), scale_job_host(job)},
        .takers = &taker,
        .taker_count = 1,
    };
    job->policy->report(job->state, &job->setting, &report, &job->decision);
    return job->decision.why;
}

#endif
