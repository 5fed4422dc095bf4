/* The data directory and the database that make up a store. Both keep the identity that was drawn when they were first
 * opened together, the directory in storage/.home; the database also keeps where that was and what file .home is, which
 * a copy of the directory does not share. */
#ifndef WEIR_STORAGE_HOME_H
#define WEIR_STORAGE_HOME_H

#include "core/db/db.h"

enum { HOME_IDENTITY_MAX = 33 /* 32 hexadecimal digits and the final zero */ };

struct home {
    char identity[HOME_IDENTITY_MAX]; /* "": none yet, or made by an older Weir */
    int64_t inode, changed_ns;        /* of .home; 0: none */
    char *place;                      /* the data directory; "": not known */
    char *cluster;                    /* files of the database; "": it does not say */
};

enum home_verdict {
    HOME_KEPT,
    HOME_ELSEWHERE, /* new, or copied, restored or moved */
    HOME_FOREIGN,   /* the database is not the one that the directory was used with */
    HOME_SHARED,    /* the directory is a copy, and the database is still the original's */
};

/* `has_original`: what is recorded still stands at the place that is recorded. */
enum home_verdict storage_home_judge(const struct home *recorded, const struct home *here,
                                     bool has_original);

/* A store as it is opened. */
struct homes {
    struct home recorded, here;
    bool is_recorded; /* the database has been used with a directory */
    enum home_verdict verdict;
};

/* Compares the two before anything is written to either. CORRUPT when they do not belong together. */
enum weir_status storage_home_open(struct weir_db *db, const char *data_dir,
                                   struct homes *ret_homes, struct weir_error *err) WEIR_MUST_USE;
/* Makes the directory's file where it is missing; the identity is in the database before. */
enum weir_status storage_home_make(struct weir_db *db, const char *data_dir, struct homes *homes,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Records `here`, inside the caller's transaction or in one of its own. */
enum weir_status storage_home_put(struct weir_db *db, const struct home *here,
                                  struct weir_error *err) WEIR_MUST_USE;
void storage_homes_fini(struct homes *homes);

#endif
