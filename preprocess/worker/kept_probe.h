/* The speed of the disk that rows are kept on, measured once by writing and reading a file there, on a thread: what a
 * choice is made by before anything is kept (plan/keeping.h). Owned by: a worker. */
#ifndef WEIR_PREPROCESS_WORKER_KEPT_PROBE_H
#define WEIR_PREPROCESS_WORKER_KEPT_PROBE_H

#include "core/loop/work.h"
#include "core/wire/wire.h"

enum { KEPT_PROBE_BYTES = 16 << 20 /* more than stays in the caches of a processor */ };

/* Nanoseconds a byte, of CPU time unless the disk is waited for: to gather and write, to read and copy; each with the
 * checksum. */
struct kept_speed {
    double write_ns;
    double warm_ns, cold_ns; /* from the page cache, and without it, by the clock */
};

/* Measures in a file of `folder`, which is removed; a killed worker leaves it as a draft. False: it is not writable. */
bool preprocess_kept_measure(const char *folder, struct kept_speed *ret_speed);

struct kept_probe {
    struct weir_loop *loop;
    char *folder;           /* owned */
    uint64_t bytes_max;     /* of the cache; 0: nothing is kept, and nothing measured */
    struct weir_work *work; /* NULL: not begun, or done */
    bool is_done, is_good;
    struct kept_speed speed; /* of the thread, until it is done */
};

void preprocess_kept_probe_init(struct kept_probe *probe, struct weir_loop *loop,
                                const char *data_dir, uint64_t bytes_max);
void preprocess_kept_probe_fini(struct kept_probe *probe); /* zeroed is fine */
/* Begins, unless it has. */
void preprocess_kept_probe_begin(struct kept_probe *probe);
/* Says what is known. A disk that cannot be written to is one on which nothing is kept. */
void preprocess_kept_probe_tell(const struct kept_probe *probe, struct msg_worker_beat *beat);

#endif
