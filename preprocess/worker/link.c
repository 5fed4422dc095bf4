/* Choosing whether bytes are compressed on their way. */
#include "preprocess/worker/link.h"

static const double NEWEST = 0.25; /* weight of the newest answer */

static void blend(double *mean, double newest)
{
    *mean = *mean == 0 ? newest : *mean + NEWEST * (newest - *mean);
}

static bool pays(const struct link *link)
{
    return link->pack_ns > 0 && link->pack_ns + link->ratio * link->wire_ns < link->wire_ns;
}

enum weir_compression preprocess_link_choose(const struct link *link)
{
    bool is_trial = link->answers >= LINK_TRIAL_ANSWERS;
    if (!link->leaves_host || link->wire_ns == 0)
        return WEIR_COMPRESSION_NONE;
    bool is_packed = link->pack_ns == 0 || pays(link) != is_trial;
    return is_packed ? WEIR_COMPRESSION_LZ4 : WEIR_COMPRESSION_NONE;
}

/* Answers that overlap share the link: each has it from when the one before had come. What storage spent is part of the
 * time of those that did not wait for another. */
static double on_the_way_ns(const struct link *link, const struct link_answer *answer)
{
    bool is_behind = link->heard_ns > answer->asked_ns;
    int64_t begun_ns = is_behind ? link->heard_ns : answer->asked_ns + answer->spent_ns;
    return answer->now_ns > begun_ns ? (double)(answer->now_ns - begun_ns) : 0;
}

void preprocess_link_heard(struct link *link, const struct link_answer *answer)
{
    double way_ns = on_the_way_ns(link, answer);
    bool was_trial = (answer->compress_ns > 0) != pays(link);
    link->heard_ns = answer->now_ns;
    if (answer->payload < LINK_BYTES_MIN)
        return;
    link->answers = was_trial ? 0 : link->answers + 1;
    if (way_ns > 0)
        blend(&link->wire_ns, way_ns / (double)answer->wire);
    if (answer->compress_ns > 0) {
        blend(&link->pack_ns, (double)answer->compress_ns / (double)answer->payload);
        blend(&link->ratio, (double)answer->wire / (double)answer->payload);
    }
}
