/* The subject and the content of a sample, read from where it came from: its record, or its manifest. So that an
 * erasure takes the samples of whom it means, whatever their hashes. */
#ifndef WEIR_STORAGE_KEY_IDENTIFY_H
#define WEIR_STORAGE_KEY_IDENTIFY_H

#include "storage/keys/key_names.h"
#include "storage/records/gather.h"
#include "storage/records/located.h"

struct key_identity {
    bool is_known; /* false: its bytes can no longer be read */
    bool has_subject, has_key;
    struct key_name subject, key;
};

/* The source that it reads from is borrowed. Keeps a manifest from one sample to the next, for as long as an
 * erasure looks at samples. */
struct key_identifier;
struct key_identifier *storage_key_identifier_new(const struct gather_from *from);
void storage_key_identifier_free(struct key_identifier *identifier);
WEIR_DEFINE_AUTO(key_identifier, storage_key_identifier_free)

struct key_identity storage_key_identify(struct key_identifier *identifier,
                                         const struct located *found);
/* True when the name of this role stands in the record itself: no other file, no folder, and no part of the sample
 * beside its payload says it. */
bool storage_key_is_inside(const struct declaration *declaration, enum format_role role);
/* True when the record, or what belongs to it in a shard, says a subject or a key. */
bool storage_key_any_is_named(const struct declaration *declaration);
/* True when the record itself says a subject or a key. */
bool storage_key_any_is_inside(const struct declaration *declaration);

#endif
