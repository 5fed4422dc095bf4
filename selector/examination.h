/* The files of sets and scores compared with the rows that name them, for `weir doctor`: each must be there, be
 * whole and have the digest or checksum that it carries. An examination goes on by some files with each request, so
 * that other requests are answered in between. Reads only. */
#ifndef SELECTOR_EXAMINATION_H
#define SELECTOR_EXAMINATION_H

#include "core/db/db.h"
#include "core/wire/wire.h"

struct selector_examination;

/* The files below `data_dir` that rows name now. Freed by selector_examination_free(). */
enum weir_status selector_examination_begin(struct weir_db *db, const char *data_dir,
                                            uint64_t session,
                                            struct selector_examination **ret_examination,
                                            struct weir_error *err) WEIR_MUST_USE;
void selector_examination_free(struct selector_examination *examination); /* NULL is fine */
uint64_t selector_examination_session(const struct selector_examination *examination);
/* Examines one file or more, for about 50 ms, and says what is found so far; borrowed until the next call. */
enum weir_status selector_examination_step(struct selector_examination *examination,
                                           struct weir_db *db, struct msg_owned_examined *ret_found,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
