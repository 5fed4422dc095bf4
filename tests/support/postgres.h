/* A private Postgres for one test program: its own directory, a Unix socket and nothing else, thrown away
 * at the end. Started as root it runs as an unprivileged user. The cluster is copied from one that is made
 * and migrated once per machine, so that starting takes a tenth of a second. */
#ifndef WEIR_TESTS_SUPPORT_POSTGRES_H
#define WEIR_TESTS_SUPPORT_POSTGRES_H

#include "tests/support/temp_dir.h"

#include <stdbool.h>
#include <sys/types.h>

struct weir_test_postgres {
    struct temp_dir dir;
    char bin_dir[256];
    /* of the database "weir", which has the schemas of all services and no rows */
    char conninfo[400];
    uid_t uid; /* it runs as */
    gid_t gid;
    pid_t pid; /* 0: not running */
};

/* Exits with 77 (skipped) and one clear line when Postgres is not installed, and aborts when it is there
 * but does not start. */
void weir_test_postgres_start(struct weir_test_postgres *postgres);
/* Stops it and removes the directory, or keeps it for the next start of this program, which makes the database anew. */
void weir_test_postgres_stop(struct weir_test_postgres *postgres);

/* Kills it as kill -9 does: connections break, commits are there after weir_test_postgres_resume(). */
void weir_test_postgres_kill(struct weir_test_postgres *postgres);
void weir_test_postgres_resume(struct weir_test_postgres *postgres);
/* Has all of its processes stand still, as a machine does whose disk hangs, and go on. */
void weir_test_postgres_pause(const struct weir_test_postgres *postgres);
void weir_test_postgres_go_on(const struct weir_test_postgres *postgres);
/* Drops everything that tests have put into the database. Nobody may be connected. */
void weir_test_postgres_reset(struct weir_test_postgres *postgres);
/* For cmocka: setup and teardown of a group of tests whose state it is, and the teardown of each, which drops what the
 * test has put there. */
int weir_test_postgres_setup(void **state);
int weir_test_postgres_teardown(void **state);
int weir_test_postgres_clean(void **state);
/* Runs SQL that must succeed, on a connection of its own. */
void weir_test_postgres_sql(struct weir_test_postgres *postgres, const char *sql);

#endif
