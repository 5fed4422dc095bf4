/* Plug-ins by name: what is found, what a section may leave out, and the words of every complaint. */
#include "core/base/memory.h"
#include "core/config/plugin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct shape {
    CFG_PLUGIN;
    int corners;
};

struct square {
    uint64_t side;
};
static const struct cfg_key SQUARE[] = {
    CFG_U64(struct square, side, .required = true, .max = 9, .doc = "length of a side"),
    CFG_END,
};
static const struct cfg_key NONE[] = {CFG_END};

static const struct shape POINT = {.name = "point", .summary = "nothing", .options = NONE};
static const struct shape BOX = {.name = "square",
                                 .summary = "a box.",
                                 .options = SQUARE,
                                 .options_size = sizeof(struct square),
                                 .corners = 4};
static const struct cfg_plugin *const ALL[] = {&POINT.plugin, &BOX.plugin};

CFG_REGISTRY(shape, struct shape, SHAPES)
const struct cfg_registry SHAPES = {
    .what = "shape",
    .key = "kind",
    .expected = "a mapping such as {kind: point}",
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
static const struct cfg_registry NAMED = {
    .what = "shape",
    .key = "kind",
    .expected = "a shape such as point",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};

struct drawing {
    const char *kind;
    uint64_t layer;
    bool filled;
};
static const struct cfg_key DRAWING[] = {
    CFG_TEXT(struct drawing, kind, .required = true, .doc = "which shape"),
    CFG_U64(struct drawing, layer, .fallback = "3", .doc = "where it lies"),
    CFG_BOOL(struct drawing, filled, .fallback = "false", .doc = "or only its line"),
    CFG_END,
};
static const struct cfg_key DEFAULTED[] = {
    CFG_TEXT(struct drawing, kind, .fallback = "point", .doc = "which shape"),
    CFG_END,
};

/* The document must outlive what was opened of it. */
static struct weir_yaml *parse(const char *text)
{
    struct weir_error err;
    struct weir_yaml *document = NULL;
    if (weir_yaml_parse("f.yaml", weir_bytes_of(text), &document, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return document;
}

static void a_plugin_is_found_by_its_name_and_by_no_other(void **state)
{
    (void)state;
    assert_ptr_equal(shape_find("square"), &BOX);
    assert_int_equal(shape_find("square")->corners, 4);
    assert_ptr_equal(shape_at(0), &POINT);
    assert_int_equal(shape_count(), 2);
    assert_null(shape_find("circle"));
    assert_null(shape_find(NULL));
}

static void shared_keys_and_own_ones_are_read_side_by_side(void **state)
{
    (void)state;
    struct weir_error err;
    struct cfg_opened opened;
    const struct cfg_shared shared = {DRAWING, sizeof(struct drawing)};
    WEIR_AUTO(weir_yaml) document = parse("{kind: square, filled: true, side: 7}");
    const struct weir_yaml_node *root = weir_yaml_root(document);
    assert_int_equal(cfg_plugin_open(&SHAPES, &shared, root, "s", &opened, &err), WEIR_OK);
    const struct drawing *drawing = opened.memory;
    const struct square *own = opened.options;
    assert_ptr_equal(opened.plugin, &BOX.plugin);
    assert_string_equal(drawing->kind, "square");
    assert_true(drawing->filled && drawing->layer == 3 && own->side == 7);
    assert_int_equal((uintptr_t)own % 16, 0);
    free(opened.memory);
}

static void a_name_alone_is_a_section_that_says_no_more(void **state)
{
    (void)state;
    struct weir_error err;
    struct cfg_opened opened;
    const struct cfg_shared shared = {DRAWING, sizeof(struct drawing)};
    WEIR_AUTO(weir_yaml) document = parse("point");
    const struct weir_yaml_node *root = weir_yaml_root(document);
    assert_int_equal(cfg_plugin_open(&NAMED, &shared, root, "s", &opened, &err), WEIR_OK);
    const struct drawing *drawing = opened.memory;
    assert_string_equal(drawing->kind, "point");
    assert_true(drawing->layer == 3 && !drawing->filled);
    free(opened.memory);
}

static void a_section_without_the_name_is_of_the_default(void **state)
{
    (void)state;
    struct weir_error err;
    struct cfg_opened opened;
    const struct cfg_shared shared = {DEFAULTED, sizeof(struct drawing)};
    WEIR_AUTO(weir_yaml) document = parse("{}");
    const struct weir_yaml_node *root = weir_yaml_root(document);
    assert_int_equal(cfg_plugin_open(&SHAPES, &shared, root, "s", &opened, &err), WEIR_OK);
    assert_ptr_equal(opened.plugin, &POINT.plugin);
    free(opened.memory);
}

static void complaints_name_the_place_and_what_was_expected(void **state)
{
    static const struct cfg_shared DRAWN = {DRAWING, sizeof(struct drawing)};
    static const struct {
        const struct cfg_registry *registry;
        const struct cfg_shared *shared;
        const char *text, *complaint;
    } CASES[] = {
        {&SHAPES, NULL, "{kind: sqare}",
         "f.yaml:1:8: s.kind: unknown shape 'sqare' (did you mean square?)"},
        {&NAMED, NULL, "sqare", "f.yaml:1:1: s: unknown shape 'sqare' (did you mean square?)"},
        {&SHAPES, NULL, "{kind: heptagon}",
         "f.yaml:1:8: s.kind: unknown shape 'heptagon', expected one of point, square"},
        {&SHAPES, NULL, "point", "f.yaml:1:1: s: expected a mapping such as {kind: point}"},
        {&NAMED, NULL, "[point]", "f.yaml:1:1: s: expected a shape such as point"},
        {&SHAPES, NULL, "{kind: square}",
         "f.yaml:1:1: s: the key 'side' is missing: length of a side"},
        {&NAMED, NULL, "square", "f.yaml:1:1: s: the key 'side' is missing: length of a side"},
        {&SHAPES, NULL, "{kind: point, side: 3}", "f.yaml:1:15: s.side: unknown key"},
        {&SHAPES, &DRAWN, "{filled: maybe}",
         "f.yaml:1:1: s: the key 'kind' is missing: which shape\n"
         "f.yaml:1:10: s.filled: expected true or false, found 'maybe'"},
        {&SHAPES, &DRAWN, "{kind: square, side: 10, layr: 2}",
         "f.yaml:1:26: s.layr: unknown key (did you mean 'layer'?)\n"
         "f.yaml:1:22: s.side: expected an integer <= 9, found '10'"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err = {0};
        struct cfg_opened opened;
        WEIR_AUTO(weir_yaml) document = parse(CASES[i].text);
        assert_int_equal(cfg_plugin_open(CASES[i].registry, CASES[i].shared,
                                         weir_yaml_root(document), "s", &opened, &err),
                         WEIR_INVALID);
        if (strncmp(err.text, CASES[i].complaint, strlen(CASES[i].complaint)) != 0)
            fail_msg("%s: found '%s', expected '%s'", CASES[i].text, err.text, CASES[i].complaint);
    }
}

static void the_reference_has_a_heading_for_each_and_no_empty_table(void **state)
{
    (void)state;
    WEIR_AUTO_BUF page = {0};
    cfg_registry_document(&SHAPES, "### s.kind", &page);
    assert_non_null(strstr(weir_buf_text(&page),
                           "\n### s.kind: point\n\nnothing.\n\n### s.kind: square\n\n"
                           "a box.\n\n| key |"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_is_found_by_its_name_and_by_no_other),
        cmocka_unit_test(shared_keys_and_own_ones_are_read_side_by_side),
        cmocka_unit_test(a_name_alone_is_a_section_that_says_no_more),
        cmocka_unit_test(a_section_without_the_name_is_of_the_default),
        cmocka_unit_test(complaints_name_the_place_and_what_was_expected),
        cmocka_unit_test(the_reference_has_a_heading_for_each_and_no_empty_table),
    };
    return cmocka_run_group_tests_name("config: plug-ins", tests, NULL, NULL);
}
