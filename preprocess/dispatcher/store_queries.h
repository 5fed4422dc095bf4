/* Names of the statements in preprocess/sql/queries.def, for the files of the store. */
#ifndef WEIR_PREPROCESS_DISPATCHER_STORE_QUERIES_H
#define WEIR_PREPROCESS_DISPATCHER_STORE_QUERIES_H

#include "preprocess/dispatcher/store.h"

enum query {
#define QUERY(name, sql) Q_##name,
#include "preprocess/sql/queries.def"
#undef QUERY
};

#endif
