/* The `preprocess` section of a pipeline file. */
#ifndef WEIR_PREPROCESS_PLAN_OPTIONS_H
#define WEIR_PREPROCESS_PLAN_OPTIONS_H

#include "core/config/complaints.h"
#include "core/config/sections.h"
#include "core/wire/delivery.h"
#include "preprocess/order/geometry.h"
#include "preprocess/order/order.h"

enum { PREPROCESS_WORKERS_MAX = 1024, PREPROCESS_PAYLOAD_BYTES_MAX = 512 << 20 /* of one batch */ };
#define PREPROCESS_BATCH_BYTES_MAX (UINT64_C(1) << 30) /* of the tensors of one batch */

enum preprocess_sequence { PREPROCESS_DETERMINISTIC, PREPROCESS_RELAXED };

struct preprocess_batch {
    uint64_t samples;
    int last;    /* enum preprocess_last */
    int shuffle; /* enum preprocess_shuffle */
    uint64_t window;
    int order;      /* enum preprocess_sequence */
    int delivery;   /* enum weir_delivery */
    uint64_t group; /* batches; 0: chosen */
    uint64_t sample_bytes_max;
    uint64_t memory; /* bytes in flight of a job; 0: as measured */
};

/* `preprocess.plan`: what may be changed about how a batch is made (C18). */
enum preprocess_order_of_operators {
    PREPROCESS_AUTO,
    PREPROCESS_AS_WRITTEN,
    PREPROCESS_APPROXIMATE
};
enum preprocess_sharing { PREPROCESS_SHARE_AUTO, PREPROCESS_SHARE_NONE };
enum preprocess_place_of_operators { PREPROCESS_PLACE_AUTO, PREPROCESS_POOL, PREPROCESS_HOST };
/* Bounds of the workers that a job has; 0: there is none. */
struct preprocess_workers {
    uint64_t min, max;
};
struct preprocess_planned {
    int order; /* enum preprocess_order_of_operators */
    int place; /* enum preprocess_place_of_operators */
    int share; /* enum preprocess_sharing */
    double tolerance;
    const struct weir_yaml_node *cache_node; /* private: read into `cache_after` */
    const char *cache_after; /* operator after which rows are kept, or "source"; NULL: none are … */
    bool cache_auto;         /* … but for a place that is chosen */
    const struct weir_yaml_node *workers_node; /* private: read into `workers` */
    struct preprocess_workers workers;
    /* the section that scales the job, for whoever knows policies; or NULL */
    const struct weir_yaml_node *policy;
};
/* True when records are kept, in place of what operators make of them. */
bool preprocess_keeps_records(const struct preprocess_planned *plan);

struct preprocess_options {
    const struct weir_yaml_node *operators;
    const struct weir_yaml_node *batch_node; /* private: read into `batch` */
    struct preprocess_batch batch;
    const struct weir_yaml_node *plan_node; /* private: read into `plan` */
    struct preprocess_planned plan;
    const struct weir_yaml_node *on_error_node; /* private: read into `on_error` */
    struct cfg_on_error on_error;
};

/* Reads the section out of a whole pipeline file; everything borrowed lives as long as the document.
 * INVALID with place and expectation. Operators are checked by preprocess_chain_new(). */
enum weir_status preprocess_options_read(const struct weir_yaml_node *root,
                                         struct preprocess_options *ret_options,
                                         struct weir_error *err) WEIR_MUST_USE;
/* The same for people: with all that is wrong, options of operators included. Returns true when those are good. */
bool preprocess_options_check(const struct weir_yaml_node *root, struct cfg_complaints *complaints);
/* "exactly_once" */
const char *preprocess_delivery_name(enum weir_delivery delivery);
/* Effective values as YAML, operators included. */
enum weir_status preprocess_options_print(const struct weir_yaml_node *root, struct weir_buf *out,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Reference page: the section, then each operator. */
void preprocess_options_describe(struct weir_buf *out);

#endif
