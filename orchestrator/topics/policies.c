/* policies: the trigger policies and metrics of this program; weir asks the other programs for theirs. */
#include "orchestrator/metrics/metric.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/triggers/trigger.h"

void topic_policies(struct topic_call *call)
{
    json_t *triggers = json_array(), *metrics = json_array();
    for (size_t i = 0; i < orchestrator_trigger_count(); i++) {
        const struct trigger_policy *policy = orchestrator_trigger_at(i);
        json_array_append_new(
            triggers, json_pack("{ss,ss}", "name", policy->name, "summary", policy->summary));
    }
    for (size_t i = 0; i < orchestrator_metric_count(); i++) {
        const struct metric *metric = orchestrator_metric_at(i);
        json_array_append_new(
            metrics, json_pack("{ss,ss}", "name", metric->name, "summary", metric->summary));
    }
    topic_answer(call, json_pack("{so,so}", "triggers", triggers, "metrics", metrics));
}
