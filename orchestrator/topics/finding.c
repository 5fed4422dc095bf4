/* The list of findings. */
#include "orchestrator/topics/finding.h"

#include "core/base/bytes.h"

static json_t *text(const char *text_or_null)
{
    return json_string(text_or_null == NULL ? "" : text_or_null);
}

void orchestrator_finding_add(json_t *findings, const char *key, json_t *subject,
                              const struct finding *finding)
{
    json_t *json = json_object();
    json_object_set_new(json, key, subject);
    json_object_set_new(json, "check", text(finding->check));
    json_object_set_new(json, "verdict", text(finding->verdict));
    json_object_set_new(json, "found", text(finding->found));
    json_object_set_new(json, "expected", text(finding->expected));
    json_object_set_new(json, "advice", text(finding->advice));
    json_array_append_new(findings, json);
}

size_t orchestrator_findings_wrong(const json_t *findings)
{
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *verdict = json_object_get(json_array_get(findings, i), "verdict");
        wrong += weir_str_equal(json_string_value(verdict), "wrong");
    }
    return wrong;
}
