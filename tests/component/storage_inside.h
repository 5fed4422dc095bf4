/* Storage in the process of its test, on a Postgres and a folder of its own: nothing happens but while the test turns
 * the loop. */
#ifndef WEIR_TESTS_COMPONENT_STORAGE_INSIDE_H
#define WEIR_TESTS_COMPONENT_STORAGE_INSIDE_H

#include "storage/storage.h"
#include "tests/support/loop.h"
#include "tests/support/postgres.h"

struct storage_inside {
    struct weir_test_postgres postgres;
    struct temp_dir dir; /* the data directory; source/ in it */
    struct weir_loop *loop;
    struct weir_arena *arena;
    struct storage *storage;
};

void storage_inside_begin(struct storage_inside *inside);
void storage_inside_end(struct storage_inside *inside);
/* For cmocka: teardown of a test whose state it is, allocated. */
int storage_inside_teardown(void **state);
/* Opens storage as a start does, after storage_close(inside->storage). */
void storage_inside_open(struct storage_inside *inside);
/* Writes DIR/source/NAME. */
void storage_inside_write(struct storage_inside *inside, const char *name, const char *text);
/* Declares a dataset: `yaml` is one of the list datasets:, %s in it the source folder. Waits until it is scanned. */
struct dataset *storage_inside_declare(struct storage_inside *inside, const char *yaml);
/* Has an erasure accepted, which must be; the answer lives in inside->arena. */
struct msg_erase_accepted storage_inside_erase(struct storage_inside *inside,
                                               const struct msg_erase_accept *asked);

#endif
