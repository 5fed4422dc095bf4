/* State of a reading pipeline besides its row: the policy at work, and pages of samples. Freed when it stops reading,
 * rebuilt from the row when it goes on. */
#ifndef ORCHESTRATOR_PIPELINE_READER_H
#define ORCHESTRATOR_PIPELINE_READER_H

#include "orchestrator/pipeline/pipeline_state.h"

enum { READER_PAGE_SAMPLES = 8192 };

/* One dataset's samples that wait for their turn. */
struct reader_page {
    uint64_t *ids;
    int64_t *times;
    int64_t *labels;
    size_t count, at, capacity;
    int64_t after_time; /* asked for up to here */
    uint64_t after_id;
    bool end;
};

typedef void pipeline_next_fn(struct pipeline *pipeline);

struct deciding;
struct probe;

struct reader {
    struct trigger *policy;
    struct reader_page pages[ORCHESTRATOR_DATASETS_MAX];
    size_t page_count;
    size_t asked;       /* index of the page that a request is open for */
    uint64_t passed;    /* live: the change whose columns are asked for */
    bool snapshot;      /* live: the feed was not kept, ask for what is live */
    int64_t visible_us; /* live: when what is asked for became visible */
    int64_t arrived_us; /* live: the same of the first of samples_new; 0: there is none */
    /* live: erased where the feed was not kept, to be reported with the next rows */
    uint64_t missed;
    json_t *decision;          /* of the check at hand; NULL: none */
    struct probe *probe;       /* MEASURING: what is being measured for it */
    struct deciding *deciding; /* has the policy and the probe; NULL: they are the loop's */
    pipeline_next_fn *next;    /* READING: goes on after the check at hand */
    uint64_t samples_new;      /* since the newest trigger */
    int64_t last_time;         /* newest sample taken */
    uint64_t last_id;
};

struct reader *orchestrator_pipeline_reader_new(struct pipeline *pipeline, struct weir_error *err);
/* One of the file's datasets that begins after (time, id); takes the policy over. Of those that do not trigger there is
 * nothing to read. */
struct reader *orchestrator_pipeline_reader_behind(struct trigger *policy,
                                                   const struct orchestrator_config *config,
                                                   int64_t time, uint64_t id);
/* pipeline->reader goes: what it held is committed. */
void orchestrator_pipeline_reader_drop(struct pipeline *pipeline);
/* Returns the page of a replay whose next sample is the first of all; NULL with *ret_missing >= 0: that page must be
 * asked for first; NULL with -1: there is nothing left. */
struct reader_page *orchestrator_pipeline_reader_first(struct reader *reader, int64_t *ret_missing);
enum reader_passing { READER_PASSED, READER_IS_DUE, READER_FIRES };
/* Takes the next sample of the page, unless a trigger or a check falls before it. */
enum reader_passing orchestrator_pipeline_reader_pass(struct reader *reader,
                                                      struct reader_page *page);
/* Replaces what the page holds. */
void orchestrator_pipeline_page_fill(struct reader_page *page, struct weir_u64s ids,
                                     struct weir_i64s times, struct weir_i64s labels);
/* The policy has said true: commits the trigger that ends at the last sample taken. False: it could not. */
bool orchestrator_pipeline_fire(struct pipeline *pipeline);

#endif
