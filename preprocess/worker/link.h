/* The way of a sample's bytes from storage to this worker, as it was measured, and whether they are compressed on it:
 * where the link is slower than the compressor, which is tried and not presumed. Pure; owned by struct worker. */
#ifndef WEIR_PREPROCESS_WORKER_LINK_H
#define WEIR_PREPROCESS_WORKER_LINK_H

#include "core/wire/compression.h"

enum {
    LINK_BYTES_MIN = 64 << 10, /* of a payload that says something of the link */
    LINK_TRIAL_ANSWERS = 64,   /* after so many the other way is tried once more */
};

/* Zeroed is of a link within the host, where nothing is ever compressed. */
struct link {
    bool leaves_host;
    double wire_ns;   /* per byte that went over it; 0: not measured */
    double pack_ns;   /* per byte of the payload, to compress it; 0: not tried */
    double ratio;     /* of what is left of it */
    unsigned answers; /* since the other way was tried */
    int64_t heard_ns; /* when the newest answer came */
};

/* An answer of storage. */
struct link_answer {
    int64_t asked_ns, now_ns;
    int64_t spent_ns;       /* by storage, … */
    int64_t compress_ns;    /* … of it, to compress */
    uint64_t payload, wire; /* bytes as they were, and as they came */
};

enum weir_compression preprocess_link_choose(const struct link *link);
void preprocess_link_heard(struct link *link, const struct link_answer *answer);

#endif
