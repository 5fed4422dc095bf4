/* Log lines as an operator sees them. */
#include "core/base/log.h"

#include "core/base/utf8.h"
#include "tests/support/child.h"

#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Returns the text of a line after its time, which is checked to be one. */
static const char *behind_time(const char *line)
{
    static const char SHAPE[] = "dddd-dd-ddTdd:dd:dd.dddZ ";
    for (const char *shape = SHAPE; *shape != '\0'; shape++, line++) {
        if (*shape == 'd')
            assert_true(isdigit((unsigned char)*line));
        else
            assert_int_equal(*line, *shape);
    }
    return line;
}

static int log_one_event(const void *argument)
{
    (void)argument;
    weir_log_setup("storage", WEIR_LOG_INFO);
    weir_log(WEIR_LOG_INFO, "scan finished", "dataset=%s files=%d", "mails", 12);
    return 0;
}

static void an_event_is_one_line_with_time_level_process_sentence_and_fields(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, log_one_event, NULL);
    assert_string_equal(behind_time(child.errors),
                        "info storage \"scan finished\" dataset=mails files=12\n");
}

static int log_without_fields(const void *argument)
{
    (void)argument;
    weir_log(WEIR_LOG_ERROR, "stopped", "%s", "");
    return 0;
}

static void no_fields_leave_no_trailing_space(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, log_without_fields, NULL);
    assert_string_equal(behind_time(child.errors), "error weir \"stopped\"\n");
}

static int log_at_every_level(const void *argument)
{
    weir_log_setup("x", *(const enum weir_log_level *)argument);
    weir_log(WEIR_LOG_DEBUG, "d", "%s", "");
    weir_log(WEIR_LOG_INFO, "i", "%s", "");
    weir_log(WEIR_LOG_WARN, "w", "%s", "");
    weir_log(WEIR_LOG_ERROR, "e", "%s", "");
    return 0;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

struct field {
    const char *before; /* in front of the characters, so that some cut falls into one */
    size_t characters;
};

static int log_characters(const void *argument)
{
    const struct field *field = argument;
    char text[8000] = "";
    for (size_t i = 0; i < field->characters; i++)
        memcpy(text + 2 * i, "é", sizeof("é"));
    weir_log(WEIR_LOG_WARN, "long", "text=%s%s", field->before, text);
    return 0;
}

static void a_line_that_is_too_long_says_so_and_ends_behind_a_character(void **state)
{
    (void)state;
    static const struct field CUT[] = {{"", 3000}, {"x", 3000}, {"xy", 3000}, {"xyz", 1000}};
    for (size_t i = 0; i < WEIR_COUNT(CUT); i++) {
        struct child child;
        child_run(&child, log_characters, &CUT[i]);
        size_t size = strlen(child.errors);
        assert_in_range(size, 2000, 2048);
        assert_string_equal(child.errors + size - strlen("é…\n"), "é…\n");
        weir_utf8_repair(child.errors);
        assert_null(strchr(child.errors, '?'));
    }
}

static void a_line_that_fits_ends_as_it_does(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, log_characters, &(struct field){"", 900});
    assert_non_null(strstr(child.errors, "éé\n"));
}

static void what_is_below_the_level_is_not_written(void **state)
{
    (void)state;
    struct child child;
    for (int level = WEIR_LOG_DEBUG; level <= WEIR_LOG_ERROR; level++) {
        enum weir_log_level at = (enum weir_log_level)level;
        child_run(&child, log_at_every_level, &at);
        assert_int_equal(count_lines(child.errors), (size_t)(4 - level));
    }
}

static int log_hostile_fields(const void *argument)
{
    char longer[5000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    weir_log(WEIR_LOG_WARN, "odd", "text=%s", (const char *)argument);
    weir_log(WEIR_LOG_WARN, "long", "text=%s", longer);
    return 0;
}

static void one_event_stays_one_line_whatever_its_fields_hold(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, log_hostile_fields, "a\nb\rc\033d");
    assert_int_equal(count_lines(child.errors), 2);
    assert_non_null(strstr(child.errors, "\"odd\" text=a b c d\n"));
    assert_in_range(strlen(child.errors), 1000, 3000);
}

enum { THREADS = 4, LINES_EACH = 20 };

static void *log_some(void *argument)
{
    for (int i = 0; i < LINES_EACH; i++)
        weir_log(WEIR_LOG_INFO, "thread speaks", "from=%s", (const char *)argument);
    return NULL;
}

static int log_from_threads(const void *argument)
{
    (void)argument;
    pthread_t threads[THREADS];
    char names[THREADS][2] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < THREADS; i++)
        weir_require(pthread_create(&threads[i], NULL, log_some, names[i]) == 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, log_from_threads, NULL);
    assert_true(child_left_with(&child, 0));
    assert_int_equal(count_lines(child.errors), THREADS * LINES_EACH);
    for (const char *line = child.errors; *line != '\0'; line = strchr(line, '\n') + 1)
        assert_memory_equal(behind_time(line), "info weir \"thread speaks\" from=", 31);
}

static void levels_have_names(void **state)
{
    (void)state;
    enum weir_log_level level = WEIR_LOG_INFO;
    assert_true(weir_log_level_from_name("debug", &level));
    assert_int_equal(level, WEIR_LOG_DEBUG);
    assert_true(weir_log_level_from_name("error", &level));
    assert_int_equal(level, WEIR_LOG_ERROR);
    assert_false(weir_log_level_from_name("loud", &level));
    assert_false(weir_log_level_from_name(NULL, &level));
    assert_int_equal(level, WEIR_LOG_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_one_line_with_time_level_process_sentence_and_fields),
        cmocka_unit_test(no_fields_leave_no_trailing_space),
        cmocka_unit_test(what_is_below_the_level_is_not_written),
        cmocka_unit_test(a_line_that_is_too_long_says_so_and_ends_behind_a_character),
        cmocka_unit_test(a_line_that_fits_ends_as_it_does),
        cmocka_unit_test(one_event_stays_one_line_whatever_its_fields_hold),
        cmocka_unit_test(lines_of_several_threads_do_not_mix),
        cmocka_unit_test(levels_have_names),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
