/* Findings of an examination, as a list of JSON objects: `weir doctor`, `weir erase verify`. */
#ifndef ORCHESTRATOR_TOPICS_FINDING_H
#define ORCHESTRATOR_TOPICS_FINDING_H

#include <jansson.h>

/* Texts are copied; NULL reads as "". */
struct finding {
    const char *check, *verdict; /* verdict: fine, note, wrong */
    const char *found, *expected, *advice;
};

/* Appends {`key`: subject, "check", "verdict", "found", "expected", "advice"}; `subject` is consumed. */
void orchestrator_finding_add(json_t *findings, const char *key, json_t *subject,
                              const struct finding *finding);
size_t orchestrator_findings_wrong(const json_t *findings);

#endif
