/* The section `training` of a text, for tests: read, and printed and read again. */
#ifndef WEIR_TESTS_TRAINING_TEXT_H
#define WEIR_TESTS_TRAINING_TEXT_H

#include "trainer_client/training.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* `*ret_training` lives as long as the document. */
static inline enum weir_status read_text(const char *text, struct weir_yaml **ret_document,
                                         struct training *ret_training, struct weir_error *err)
{
    assert_int_equal(weir_yaml_parse("p.yaml", weir_bytes_of(text), ret_document, err), WEIR_OK);
    return trainer_training_read(weir_yaml_root(*ret_document), ret_training, err);
}

/* The section of a text, and the same read again from its printed form. */
struct printed_back {
    struct training training, again;
    struct weir_yaml *documents[2];
};

static inline void print_back(const char *text, struct printed_back *ret_read)
{
    struct weir_error err;
    WEIR_AUTO_BUF printed = {0};
    assert_int_equal(read_text(text, &ret_read->documents[0], &ret_read->training, &err), WEIR_OK);
    trainer_training_print(&ret_read->training, &printed);
    if (read_text(weir_buf_text(&printed), &ret_read->documents[1], &ret_read->again, &err) !=
        WEIR_OK)
        fail_msg("%s\n%s", err.text, weir_buf_text(&printed));
}

static inline void printed_back_fini(struct printed_back *read)
{
    weir_yaml_free(read->documents[0]);
    weir_yaml_free(read->documents[1]);
}

#endif
