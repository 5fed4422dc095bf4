/* Chains of operators as they are written, in the order that Weir chooses, and in the best legal order there is, which
 * is found by running each of them: what the choice is worth, and what it leaves on the table (E5). */
#ifndef BENCHMARKS_PLAN_ORDERS_H
#define BENCHMARKS_PLAN_ORDERS_H

#include "benchmarks/plan/rows.h"
#include "preprocess/plan/ordering.h"

enum orders_side { ORDERS_WRITTEN, ORDERS_CHOSEN, ORDERS_BEST, ORDERS_SIDES };

/* Text in lower case before it is cut off; a cast before a filter that keeps a fifth; colours changed before pictures
 * become smaller, which is approximate. */
enum orders_case { ORDERS_TEXT, ORDERS_TABLE, ORDERS_PICTURES, ORDERS_CASES };

struct orders_of {
    struct weir_yaml *document;
    struct chain *chain[ORDERS_SIDES];
    struct rows rows;
};

struct orders {
    struct orders_of of[ORDERS_CASES];
};

/* Draws the rows, chooses, and tries all legal orders. */
enum weir_status orders_open(struct orders *orders, struct weir_error *err) WEIR_MUST_USE;
void orders_close(struct orders *orders);
/* Returns the rows that a second of CPU time brings through a chain. */
double orders_rate(struct orders_of *of, enum orders_side side);

#endif
