/* A document out of the text of a test. */
#ifndef WEIR_TESTS_SUPPORT_YAML_H
#define WEIR_TESTS_SUPPORT_YAML_H

#include "core/config/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Complaints name it t.yaml; the test frees it. */
static inline struct weir_yaml *yaml_of(const char *text)
{
    struct weir_yaml *document = NULL;
    struct weir_error err;
    if (weir_yaml_parse("t.yaml", weir_bytes_of(text), &document, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return document;
}

#endif
