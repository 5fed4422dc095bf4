/* The walk of a source: its order, what it passes over, and that nobody leads it outside. */
#include "storage/files/listing.h"

#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct source {
    struct temp_dir dir;
    struct declaration declaration;
    struct dataset dataset;
    struct scope scope;
    char found[4096];    /* paths, each with a newline at the end */
    const char *swap_at; /* when this folder is entered, a/later becomes a link to outside/ */
};

static void make(struct source *source, const char *path)
{
    WEIR_AUTO_FREE char *absolute = weir_format("%s/source/%s", source->dir.path, path);
    struct weir_error err;
    char *slash = strrchr(absolute, '/');

    *slash = '\0';
    assert_int_equal(weir_make_directories(absolute, 0700, &err), WEIR_OK);
    *slash = '/';
    close(open(absolute, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int begin(void **state)
{
    struct source *source = weir_calloc(1, sizeof(*source));

    temp_dir_make(&source->dir);
    source->declaration.source.include = "*";
    source->dataset.declaration = &source->declaration;
    source->dataset.root = weir_format("%s/source", source->dir.path);
    *state = source;
    return 0;
}

static int end(void **state)
{
    struct source *source = *state;

    storage_scope_fini(&source->scope);
    temp_dir_remove(&source->dir);
    free(source->dataset.root);
    free(source);
    return 0;
}

static void on_folder(void *owner, const char *folder, int fd)
{
    struct source *source = owner;
    WEIR_AUTO_FREE char *later = weir_format("%s/a/later", source->dataset.root);
    WEIR_AUTO_FREE char *outside = weir_format("%s/outside", source->dir.path);
    WEIR_AUTO_FREE char *aside = weir_format("%s/aside", source->dir.path);

    assert_true(fd >= 0);
    if (source->swap_at == NULL || strcmp(folder, source->swap_at) != 0)
        return;
    assert_int_equal(rename(later, aside), 0);
    assert_int_equal(symlink(outside, later), 0);
}

static const char *walk(struct source *source)
{
    struct listing *listing;
    struct listed listed = {.kind = LISTED_NOTHING};
    struct weir_error err;

    storage_scope_seal(&source->scope);
    listing = storage_listing_new(&source->dataset, &source->scope, on_folder, source);
    *source->found = '\0';
    while (listed.kind != LISTED_END) {
        assert_int_equal(storage_listing_next(listing, &listed, &err), WEIR_OK);
        if (listed.kind == LISTED_UNREADABLE)
            strcat(source->found, "?");
        if (listed.kind == LISTED_FILE || listed.kind == LISTED_UNREADABLE)
            strcat(strcat(source->found, listed.path), "\n");
    }
    storage_listing_free(listing);
    return source->found;
}

static void files_come_in_bytewise_order_of_their_paths(void **state)
{
    struct source *source = *state;

    make(source, "a/z");
    make(source, "a.b");
    make(source, "a-");
    make(source, "a/b/c");
    make(source, "a/b.c");
    make(source, "B");
    storage_scope_add_all(&source->scope);
    assert_string_equal(walk(source), "B\na-\na.b\na/b.c\na/b/c\na/z\n");
}

static void hidden_names_and_links_are_passed_over(void **state)
{
    struct source *source = *state;
    WEIR_AUTO_FREE char *folder = weir_format("%s/link", source->dataset.root);
    WEIR_AUTO_FREE char *file = weir_format("%s/x.link", source->dataset.root);

    make(source, "x");
    make(source, ".hidden");
    make(source, ".folder/x");
    assert_int_equal(symlink("/etc", folder), 0);
    assert_int_equal(symlink("x", file), 0);
    storage_scope_add_all(&source->scope);
    assert_string_equal(walk(source), "x\n");
}

static void a_folder_swapped_for_a_link_during_the_walk_leads_nowhere(void **state)
{
    struct source *source = *state;
    WEIR_AUTO_FREE char *outside = weir_format("%s/outside", source->dir.path);
    WEIR_AUTO_FREE char *secret = weir_format("%s/secret", outside);

    make(source, "a/first/x");
    make(source, "a/later/y");
    assert_int_equal(mkdir(outside, 0700), 0);
    close(open(secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    source->swap_at = "a/first"; /* the walk has read the names of a/ by then */
    storage_scope_add_all(&source->scope);
    assert_string_equal(walk(source), "a/first/x\n");
}

static void named_paths_are_looked_at_alone(void **state)
{
    struct source *source = *state;

    make(source, "a/b/c");
    make(source, "a/b.c");
    make(source, "a/x");
    make(source, "d");
    storage_scope_add(&source->scope, "a/b");
    storage_scope_add(&source->scope, "d");
    storage_scope_add(&source->scope, "gone");
    assert_string_equal(walk(source), "a/b/c\nd\n");
}

static void a_named_path_behind_a_link_is_not_there(void **state)
{
    struct source *source = *state;
    WEIR_AUTO_FREE char *link = weir_format("%s/link", source->dataset.root);

    make(source, "a/x");
    assert_int_equal(symlink("a", link), 0);
    storage_scope_add(&source->scope, "link/x");
    storage_scope_add(&source->scope, "../source/a/x");
    assert_string_equal(walk(source), "");
}

/* Deeper than temp_dir_remove() goes. */
static void remove_branch(const struct source *source, const char *path)
{
    WEIR_AUTO_FREE char *absolute = weir_format("%s/%s", source->dataset.root, path);

    while (strlen(absolute) > strlen(source->dataset.root)) {
        (void)remove(absolute);
        *strrchr(absolute, '/') = '\0';
    }
}

static void folders_may_be_as_deep_as_the_bound(void **state)
{
    struct source *source = *state;
    char path[512] = "";

    for (int i = 0; i < LISTING_DEPTH_MAX; i++)
        strcat(path, "d/");
    strcat(path, "x");
    make(source, path);
    strcpy(strrchr(path, 'x'), "d/x");
    make(source, path);
    storage_scope_add_all(&source->scope);
    (void)walk(source);
    assert_int_equal(source->found[0], '?'); /* the deeper folder sorts first, and is told */
    assert_non_null(strstr(source->found, "d/x\n"));
    remove_branch(source, path);
}

static void a_source_that_is_taken_away_is_not_an_empty_one(void **state)
{
    struct source *source = *state;
    WEIR_AUTO_FREE char *aside = weir_format("%s/aside", source->dir.path);
    struct listing *listing;
    struct listed listed = {.kind = LISTED_NOTHING};
    struct weir_error err;
    enum weir_status status = WEIR_OK;

    make(source, "x");
    storage_scope_add_all(&source->scope);
    storage_scope_seal(&source->scope);
    listing = storage_listing_new(&source->dataset, &source->scope, on_folder, source);
    assert_int_equal(storage_listing_next(listing, &listed, &err), WEIR_OK);
    assert_int_equal(rename(source->dataset.root, aside), 0);
    while (status == WEIR_OK && listed.kind != LISTED_END)
        status = storage_listing_next(listing, &listed, &err);
    assert_int_equal(status, WEIR_NOT_FOUND);
    storage_listing_free(listing);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(files_come_in_bytewise_order_of_their_paths),
        CASE(hidden_names_and_links_are_passed_over),
        CASE(a_folder_swapped_for_a_link_during_the_walk_leads_nowhere),
        CASE(named_paths_are_looked_at_alone),
        CASE(a_named_path_behind_a_link_is_not_there),
        CASE(folders_may_be_as_deep_as_the_bound),
        CASE(a_source_that_is_taken_away_is_not_an_empty_one),
    };
    return cmocka_run_group_tests_name("listing", tests, NULL, NULL);
}
