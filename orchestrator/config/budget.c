/* Limits, and whether they are reached. */
#include "orchestrator/config/budget.h"

static const int64_t DAY_US = INT64_C(86400) * 1000000;

static const char *const PER[] = {"total", "day", NULL};
static const char *const THEN[] = {"hold", "warn", NULL};

static const struct cfg_key KEYS[] = {
    CFG_F64(struct budget, money, .fallback = "0", .max = 1e15,
            .doc = "by the system file's prices, which must be set, in its currency; 0: no limit"),
    CFG_F64(struct budget, cpu_seconds, .fallback = "0", .max = 1e15,
            .doc = "of trainers and workers; 0: no limit"),
    CFG_F64(struct budget, gpu_seconds, .fallback = "0", .max = 1e15,
            .doc = "of GPU slots held; 0: no limit"),
    CFG_CHOICE(struct budget, per, .fallback = "total", .choices = PER,
               .doc =
                   "all that the pipeline's runs cost, or that of those begun since midnight, UTC"),
    CFG_CHOICE(
        struct budget, then, .fallback = "hold", .choices = THEN,
        .doc =
            "hold: no trigger fires until the next day; with total, the pipeline is stopped. warn: an "
            "event tells it, once"),
    CFG_END,
};

enum weir_status orchestrator_budget_read(const struct weir_yaml_node *node, const char *path,
                                          struct budget *ret_budget, struct weir_error *err)
{
    struct budget budget = {0};
    enum weir_status status =
        node == NULL ? WEIR_OK : cfg_read(KEYS, CFG_CLOSED, node, path, NULL, &budget, err);
    if (status != WEIR_OK)
        return status;
    if (node != NULL && !orchestrator_budget_is_set(&budget))
        return weir_yaml_fail(node, err, "%s: expected money, cpu_seconds or gpu_seconds above 0",
                              path);
    *ret_budget = budget;
    return WEIR_OK;
}

enum weir_status orchestrator_budget_check_prices(const struct weir_yaml_node *node,
                                                  const char *path,
                                                  const struct orchestrator_prices *prices,
                                                  struct weir_error *err)
{
    struct budget budget;
    enum weir_status status = orchestrator_budget_read(node, path, &budget, err);

    if (status != WEIR_OK || budget.money == 0 || prices == NULL ||
        orchestrator_prices_are_set(prices))
        return status;
    return weir_yaml_fail(weir_yaml_get(node, "money"), err,
                          "%s.money: expected prices in the system file as well (cpu_hour, "
                          "gpu_hour, gigabyte_read or gigabyte_sent), without which nothing costs "
                          "money: set one, or limit cpu_seconds or gpu_seconds",
                          path);
}

enum weir_status orchestrator_budgets_check(const struct weir_yaml_node *budgets,
                                            const struct orchestrator_prices *prices,
                                            struct weir_error *err)
{
    if (!weir_yaml_is_mapping_if_any(budgets))
        return weir_yaml_fail(budgets, err, "budgets: expected NAME: {money: …, cpu_seconds: …}");
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < weir_yaml_pairs(budgets); i++) {
        status =
            orchestrator_budget_check_prices(weir_yaml_value(budgets, i), "budgets", prices, err);
    }
    return status;
}

struct budget orchestrator_budgets_find(const struct weir_yaml_node *budgets, const char *name,
                                        const char *fallback)
{
    struct budget budget;
    struct weir_error err;
    const struct weir_yaml_node *node = weir_yaml_get(budgets, name);
    if (node == NULL && fallback != NULL)
        node = weir_yaml_get(budgets, fallback);
    weir_require(orchestrator_budget_read(node, "budgets", &budget, &err) ==
                 WEIR_OK); /* when it was loaded */
    return budget;
}

bool orchestrator_budget_is_set(const struct budget *budget)
{
    return budget->money > 0 || budget->cpu_seconds > 0 || budget->gpu_seconds > 0;
}

int64_t orchestrator_budget_since(const struct budget *budget, int64_t now_us)
{
    return budget->per == BUDGET_DAY ? now_us - now_us % DAY_US : 0;
}

bool orchestrator_budget_is_spent(const struct budget *budget,
                                  const struct orchestrator_prices *prices,
                                  const struct orchestrator_cost *spent)
{
    return (budget->money > 0 && orchestrator_money(prices, spent) >= budget->money) ||
           (budget->cpu_seconds > 0 && orchestrator_cpu_seconds(spent) >= budget->cpu_seconds) ||
           (budget->gpu_seconds > 0 && (double)spent->gpu_ns / 1e9 >= budget->gpu_seconds);
}

void orchestrator_budget_print(const struct budget *budget, struct weir_buf *out)
{
    if (!orchestrator_budget_is_set(budget))
        return;
    weir_buf_append_text(out, "budget:\n");
    cfg_print(KEYS, budget, 2, out);
}

void orchestrator_budget_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "## budget\n\nAbsent, nothing limits what a pipeline may cost.\n\n");
    cfg_document(KEYS, out);
}

void orchestrator_budgets_describe(struct weir_buf *out)
{
    weir_buf_append_text(
        out, "\n## budgets.NAME\n\nOf the pipeline of that name, beside what its own file says; "
             "`default` is for each of the others, `all` for all together.\n\n");
    cfg_document(KEYS, out);
}
