/* The next step of an erasure with an object, by the versions that are listed of it. */
#include "storage/objects/s3_aim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Versions as words: "m" what was mirrored, "n" another object, "w" what was written again, "d" a delete marker; the
 * first is the newest, unless the text begins with a dash. */
static struct s3_versions versions_of(const char *words, struct s3_version at[8])
{
    bool has_newest = *words != '-';
    struct s3_versions versions = {.at = at};

    for (words += !has_newest; *words; words++) {
        static const char *const ETAGS[] = {['m'] = "m", ['n'] = "n", ['w'] = "w", ['d'] = NULL};

        at[versions.count] = (struct s3_version){.id = "v",
                                                 .etag = ETAGS[(unsigned char)*words],
                                                 .is_latest = has_newest && versions.count == 0};
        versions.count++;
    }
    return versions;
}

static const struct {
    const char *versions;
    struct s3_aim aim;
    enum s3_step step;
} CASES[] = {
    /* deleting what was mirrored */
    {"", {false, true, "m", NULL}, S3_DONE},
    {"m", {false, true, "m", NULL}, S3_DELETE_NEWEST},
    {"mnd", {false, true, "m", NULL}, S3_DELETE_OLDER},
    {"d", {false, true, "m", NULL}, S3_DELETE_NEWEST},
    {"dm", {false, true, "m", NULL}, S3_DELETE_OLDER},
    {"n", {false, true, "m", NULL}, S3_LEFT},
    {"nm",
     {false, true, "m", NULL},
     S3_DELETE_OLDER}, /* the newest is somebody else's, the rest is not */
    {"n", {false, true, "", NULL}, S3_LEFT},
    /* deleting what was there before somebody else's */
    {"n", {false, false, "", NULL}, S3_LEFT},
    {"nm", {false, false, "", NULL}, S3_LEFT},
    {"dm", {false, false, "", NULL}, S3_DELETE_OLDER},
    {"d", {false, false, "", NULL}, S3_DELETE_NEWEST},
    /* writing again what was mirrored */
    {"", {true, true, "", "m"}, S3_DONE},
    {"m", {true, true, "", "m"}, S3_WRITE},
    {"mnm", {true, true, "", "m"}, S3_WRITE},
    {"m", {true, true, "", NULL}, S3_LATER},
    {"nm", {true, true, "", "m"}, S3_LATER},
    {"wm", {true, true, "w", "m"}, S3_DELETE_OLDER},
    {"w", {true, true, "w", "w"}, S3_DONE},
    {"nwm", {true, true, "w", "m"}, S3_LATER},
    {"nw", {true, true, "w", "n"}, S3_WRITE},
    {"dm", {true, true, "", "m"}, S3_DELETE_OLDER},
    {"d", {true, true, "", "m"}, S3_DELETE_NEWEST},
    /* … what was there before: the newest holds nothing of it */
    {"nm", {true, false, "", NULL}, S3_DELETE_OLDER},
    {"n", {true, false, "", NULL}, S3_DONE},
    {"-nm", {true, true, "", "m"}, S3_LATER}, /* a store that marks none as the newest */
};

static void each_list_has_its_next_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct s3_version at[8];
        const struct s3_versions versions = versions_of(CASES[i].versions, at);

        if (storage_s3_next_step(&versions, &CASES[i].aim) != CASES[i].step)
            fail_msg("case %zu: %s", i, CASES[i].versions);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_list_has_its_next_step)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
