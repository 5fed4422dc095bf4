/* Overwriting what became no sample in files that Weir owns, so that nothing of it is left when the batch that takes
 * the file in commits. Doing it twice is the same as doing it once, and a death before the commit only repeats it: the
 * file is copied again from where it was indexed up to. */
#ifndef WEIR_STORAGE_BLANKING_H
#define WEIR_STORAGE_BLANKING_H

#include "storage/catalog/catalog.h"

/* A file that is open for it, and the part that was read of it. */
struct blanking {
    const struct dataset *dataset;
    const struct stored_file *file;
    int fd;
    struct weir_bytes head; /* the beginning of the file, borrowed */
    struct weir_buf piece;  /* its memory is kept from range to range */
    bool is_changed;
};

/* STALE when the file is not there. */
enum weir_status storage_blanking_open(const struct dataset *dataset,
                                       const struct stored_file *file, struct weir_bytes head,
                                       struct blanking *ret_blanking,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Gives the file its recorded time again, if it was changed; not yet synced. */
enum weir_status storage_blanking_close(struct blanking *blanking,
                                        struct weir_error *err) WEIR_MUST_USE;
/* A range of whole records: formats pass over what is left of them. */
enum weir_status storage_blank_records(struct blanking *blanking, struct format_range range,
                                       struct weir_error *err) WEIR_MUST_USE;
/* A sample that was taken, by its payload; `from` is 0, or the end of the payload of a sample before it. */
enum weir_status storage_blank_sample(struct blanking *blanking, uint64_t from,
                                      struct format_range payload,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Bytes that no format finds anything in. */
enum weir_status storage_blank_bytes(struct blanking *blanking, struct format_range range,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
