/* Names of classes that a stream brought go with the last sample of their class that is erased, and not before. */
#include "core/base/memory.h"
#include "tests/component/storage_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct storage_lab lab;

/* Speakers are the classes. */
static const char SPEAKERS[] =
    "  - {name: talks, source: {path: %s, format: jsonl, import: copy, settle: 0ms, on_erase: scrub},\n"
    "     time: {from: field, field: ts}, subject: {field: user},\n"
    "     label: {field: label, classes: stream}}\n";

static struct msg_dataset_is take_in(void)
{
    storage_lab_write(&lab, "a.jsonl",
                      "{\"ts\": 1, \"user\": \"ann\", \"label\": \"ann\"}\n"
                      "{\"ts\": 2, \"user\": \"ann\", \"label\": \"loud\"}\n"
                      "{\"ts\": 3, \"user\": \"bob\", \"label\": \"loud\"}\n"
                      "{\"ts\": 4, \"user\": \"bob\", \"label\": \"bob\"}\n");
    storage_lab_must_declare(&lab, SPEAKERS);
    return storage_lab_await(&lab, "talks", 1);
}

static void assert_classes(const char *const *expected, size_t count)
{
    struct msg_dataset_is is = storage_lab_dataset(&lab, "talks");

    assert_true(is.classes_grow);
    assert_int_equal(is.classes.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(is.classes.at[i], expected[i]);
}

static bool is_remarked(const struct msg_erase_is *is, const char *words)
{
    for (size_t i = 0; i < is->remarks.count; i++)
        if (strstr(is->remarks.at[i], words) != NULL)
            return true;
    return false;
}

static void a_name_goes_with_the_last_sample_of_its_class(void **state)
{
    static const char *const BEFORE[] = {"ann", "loud", "bob"},
                             *const ANN[] = {"erased-0", "loud", "bob"},
                             *const BOTH[] = {"erased-0", "erased-1", "erased-2"};
    struct msg_erase_is is;

    (void)state;
    (void)take_in();
    assert_classes(BEFORE, 3);
    is = storage_lab_erase(&lab, "classes-1", "ann", "verified");
    assert_classes(ANN, 3); /* of the other class of hers there is a sample */
    assert_true(is_remarked(&is, "no sample is left of 1 classes") &&
                is_remarked(&is, "'erased-0'"));
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_classes(ANN, 3);
    is = storage_lab_erase(&lab, "classes-2", "bob", "verified");
    assert_classes(BOTH, 3);
    assert_true(is_remarked(&is, "no sample is left of 2 classes"));
}

/* A stream that says what stands in the place of a name, or says the name again, means another class. */
static void a_number_that_has_lost_its_name_is_never_given_again(void **state)
{
    static const char *const AFTER[] = {"erased-0", "loud", "bob", "erased-0", "ann"};

    (void)state;
    (void)take_in();
    (void)storage_lab_erase(&lab, "classes-3", "ann", "verified");
    storage_lab_write(&lab, "b.jsonl",
                      "{\"ts\": 6, \"user\": \"eve\", \"label\": \"erased-0\"}\n"
                      "{\"ts\": 7, \"user\": \"eve\", \"label\": \"ann\"}\n");
    while (storage_lab_dataset(&lab, "talks").live < 4)
        weir_loop_step(lab.loop, 20);
    assert_classes(AFTER, 5);
}

/* Labels are overwritten and names replaced in two transactions, and storage may die at either. */
static void a_death_leaves_no_name_behind(void **state)
{
    static const char *const DEATHS[] = {"storage.erase.columns=!1", "storage.erase.classes=!1",
                                         "storage.erase.classes=1", "storage.erase.scrub=!1"};
    static const char *const AFTER[] = {"erased-0", "loud", "bob"};

    for (size_t i = 0; i < WEIR_COUNT(DEATHS); i++) {
        WEIR_AUTO_FREE char *uuid = weir_format("classes-death-%zu", i);
        const char *subject = "ann";
        const struct msg_erase_accept ask = {.uuid = uuid, .subjects = {&subject, 1}};
        struct msg_erase_accepted accepted;
        struct msg_erase_is is;

        if (i > 0) {
            storage_lab_teardown(state);
            storage_lab_setup(state);
        }
        storage_lab_kill(&lab);
        lab.faults = DEATHS[i];
        storage_lab_start(&lab);
        (void)take_in();
        enum weir_status status =
            storage_lab_request(&lab, MSG_erase_accept, &ask, MSG_erase_accepted, &accepted);
        if (strchr(DEATHS[i], '!') != NULL) {
            storage_lab_await_death(&lab);
            lab.faults = NULL;
            storage_lab_start(&lab);
        }
        if (status != WEIR_OK) /* the death was faster than the answer; the same request again */
            status =
                storage_lab_request(&lab, MSG_erase_accept, &ask, MSG_erase_accepted, &accepted);
        assert_int_equal(status, WEIR_OK);
        is = storage_lab_await_erasure(&lab, accepted.erasure, "verified");
        assert_classes(AFTER, 3);
        assert_true(is_remarked(&is, "'erased-0'"));
        lab.faults = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, a_name_goes_with_the_last_sample_of_its_class),
        STORAGE_CASE(&lab, a_number_that_has_lost_its_name_is_never_given_again),
        STORAGE_CASE(&lab, a_death_leaves_no_name_behind),
    };

    return storage_lab_run(&lab, "storage: names of classes", tests, WEIR_COUNT(tests));
}
