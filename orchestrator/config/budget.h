/* The limit of what runs may cost, in total or in a day (UTC), and what happens at it: the section `budget`
 * of a pipeline's file, and `budgets` of the system file. Pure. */
#ifndef ORCHESTRATOR_CONFIG_BUDGET_H
#define ORCHESTRATOR_CONFIG_BUDGET_H

#include "core/config/schema.h"
#include "orchestrator/config/prices.h"

enum budget_per { BUDGET_TOTAL, BUDGET_DAY };
enum budget_then { BUDGET_HOLD, BUDGET_WARN };

/* Zero-initialised there is none. */
struct budget {
    double money, cpu_seconds, gpu_seconds; /* 0: no limit */
    int per;                                /* enum budget_per */
    int then;                               /* enum budget_then */
};

/* `node` may be absent (NULL); messages call it `path`. INVALID with its place when it limits nothing. */
enum weir_status orchestrator_budget_read(const struct weir_yaml_node *node, const char *path,
                                          struct budget *ret_budget,
                                          struct weir_error *err) WEIR_MUST_USE;
/* INVALID with its place when it limits money of which runs cost none: it would never be spent. `node`: that was read,
 * or NULL. `prices`: NULL when they are not known. */
enum weir_status orchestrator_budget_check_prices(const struct weir_yaml_node *node,
                                                  const char *path,
                                                  const struct orchestrator_prices *prices,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* The system file's, by name of a pipeline, and its prices (NULL: not known). INVALID with a place. */
enum weir_status orchestrator_budgets_check(const struct weir_yaml_node *budgets,
                                            const struct orchestrator_prices *prices,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Returns the budget of that name, or else of `fallback` (NULL: none). `budgets`: checked, or NULL. */
struct budget orchestrator_budgets_find(const struct weir_yaml_node *budgets, const char *name,
                                        const char *fallback);
bool orchestrator_budget_is_set(const struct budget *budget);
/* The beginning of what is counted at `now_us`: 0, or midnight. */
int64_t orchestrator_budget_since(const struct budget *budget, int64_t now_us);
/* Returns true when the spending since then reaches one of the limits. */
bool orchestrator_budget_is_spent(const struct budget *budget,
                                  const struct orchestrator_prices *prices,
                                  const struct orchestrator_cost *spent);
void orchestrator_budget_print(const struct budget *budget,
                               struct weir_buf *out); /* nothing when it is not set */
void orchestrator_budget_describe(struct weir_buf *out);
void orchestrator_budgets_describe(
    struct weir_buf *out); /* the reference page of the system file's */

#endif
