/* The sections `models` (how they are stored, which are kept) and `promote` (which one is active) of a pipeline's
 * file. */
#ifndef ORCHESTRATOR_CONFIG_MODEL_SETTINGS_H
#define ORCHESTRATOR_CONFIG_MODEL_SETTINGS_H

#include "core/config/schema.h"
#include "orchestrator/metrics/metric.h"

enum models_storage { MODELS_FULL, MODELS_DELTA };
enum models_keep { MODELS_KEEP_ALL, MODELS_KEEP_LAST, MODELS_KEEP_BEST };

struct models_settings {
    int storage;         /* enum models_storage */
    uint64_t full_every; /* of deltas: one model of so many is stored whole */
    enum models_keep keep;
    uint64_t keep_count;
    struct configured_metric *keep_by;      /* of MODELS_KEEP_BEST */
    bool higher_is_better;                  /* of it */
    const struct weir_yaml_node *keep_node; /* NULL: all */
};

struct promote_settings {
    struct configured_metric *metric; /* NULL: every model becomes the active one */
    const struct weir_yaml_node *when_node;
    double not_worse_by;
    const char *evaluation; /* borrowed from the document; "": any that has the metric */
};

/* Either section may be absent (NULL). INVALID with the place of what is wrong. The document must outlive the settings;
 * release them with the functions below, zeroed is fine. */
enum weir_status orchestrator_models_settings_read(const struct weir_yaml_node *models,
                                                   struct models_settings *ret_settings,
                                                   struct weir_error *err) WEIR_MUST_USE;
enum weir_status orchestrator_promote_settings_read(const struct weir_yaml_node *promote,
                                                    struct promote_settings *ret_settings,
                                                    struct weir_error *err) WEIR_MUST_USE;
void orchestrator_models_settings_fini(struct models_settings *settings);
void orchestrator_promote_settings_fini(struct promote_settings *settings);
/* Append the effective values as YAML. */
void orchestrator_models_settings_print(const struct models_settings *settings,
                                        struct weir_buf *out);
void orchestrator_promote_settings_print(const struct promote_settings *settings,
                                         struct weir_buf *out);
/* Appends the reference of both sections. */
void orchestrator_models_settings_describe(struct weir_buf *out);

#endif
