/* The live page: what `weir report -o` shows, while it happens (page/README.md), over HTTP on an address of its own.
 * Topics are asked as by a viewer of the whole platform, and only while somebody looks; what has changed is pushed,
 * once a second at most and for no more than a small part of the loop's time. The events of a pipeline make its
 * pictures stale; tables are asked for again each time. */
#ifndef ORCHESTRATOR_LIVE_LIVE_H
#define ORCHESTRATOR_LIVE_LIVE_H

#include "orchestrator/topics/topic.h"
#include "orchestrator/values/page_place.h"

struct live;

/* Listens from now on. INVALID, UNSUPPORTED, NOT_FOUND, DENIED when others may read the key, IO. */
enum weir_status orchestrator_live_open(struct weir_loop *loop, const struct page_place *place,
                                        struct live **ret_live,
                                        struct weir_error *err) WEIR_MUST_USE;
/* NULL is fine. */
void orchestrator_live_close(struct live *live);
/* Its URL, with the port that is really listened at: "http://127.0.0.1:9470/". */
const char *orchestrator_live_address(const struct live *live);

/* The topics answer from now on. */
void orchestrator_live_attach(struct live *live, struct topics *topics);
/* Before the topics go. NULL is fine, and so is calling it again. */
void orchestrator_live_detach(struct live *live);
/* Something has happened to a pipeline, or to all of them (0). NULL is fine. */
void orchestrator_live_happened(struct live *live, int64_t pipeline);

#endif
