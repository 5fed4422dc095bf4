/* What an erasure does to the buckets that erased samples came from. Where `on_erase` is unlink, so that an
 * object holds one sample, the object is deleted: all its versions and delete markers, the newest last, until
 * none is listed any more. A newer object that has not been mirrored yet is left, and told of. Where it is
 * scrub, objects hold other people's samples too, and the bucket is not written to.
 *
 * What could not be done is asked again after growing pauses, and then becomes a remark of the receipt that
 * names bucket and object. Nothing of it is stored: as long as the erasure is in force and not scrubbed, the
 * samples still know their paths, and doing it again is harmless. Owned by struct open_erasure. */
#ifndef WEIR_STORAGE_S3_ERASE_H
#define WEIR_STORAGE_S3_ERASE_H

#include "storage/erasure/open_erasure.h"

/* Goes on as far as is possible without waiting; storage is pumped when there is an answer. After an error it
 * is to be freed. */
enum weir_status storage_bucket_erase(struct storage *storage, struct open_erasure *erasure,
                                      bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* True while a bucket has not answered; false for NULL. */
bool storage_bucket_is_waiting(const struct bucket_erasure *bucket);
void storage_bucket_erasure_free(struct bucket_erasure *bucket);

#endif
