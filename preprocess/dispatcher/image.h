/* Copies of jobs as they are to be stored: the loop goes on changing the job while a thread stores it. Taking an image
 * clears what says that there is something to be stored; preprocess_image_put_back() says so again. */
#ifndef WEIR_PREPROCESS_DISPATCHER_IMAGE_H
#define WEIR_PREPROCESS_DISPATCHER_IMAGE_H

#include "preprocess/dispatcher/entry.h"

struct dispatcher_image {
    uint64_t number;
    uint32_t ranks;
    unsigned parts; /* enum dispatcher_unsaved, of its record */
    bool has_report, has_failures, has_silence;
    bool is_abandoned;                /* closed because nobody asked for it */
    struct dispatcher_record *record; /* NULL: neither record nor report is to be stored */
    bool has_expected;
    uint64_t expected;
    struct dispatcher_costs costs; /* rows that have changed … */
    bool replaces_costs;           /* … in place of all that are stored */
    struct dispatcher_cost total;
    char *kept; /* operators before the place at which rows are kept; "source": the records are */
    struct failures failures;
    int64_t silent_ms;
    struct weir_buf scaling; /* how far its policy and model are; empty: as it is stored */
    enum weir_status status; /* of storing it */
};

struct dispatcher_images {
    struct dispatcher_image *at;
    size_t count, capacity;
};

/* Of its record, and what its audit must add up to. */
void preprocess_image_of_record(struct dispatcher_images *images, struct dispatcher_entry *entry);
/* True when there is something that may be stored a little late. */
bool preprocess_image_is_due(const struct dispatcher_entry *entry, int64_t silence_max_ms);
/* Of that. */
void preprocess_image_of_report(struct dispatcher_images *images, struct dispatcher_entry *entry,
                                int64_t silence_max_ms);
/* Of what is left of a job that is closed; of an abandoned one that is everything. */
void preprocess_image_of_end(struct dispatcher_images *images, struct dispatcher_entry *entry);
/* It was not stored; `entry` is the job that it was taken of. */
void preprocess_image_put_back(const struct dispatcher_image *image,
                               struct dispatcher_entry *entry);
void preprocess_images_fini(struct dispatcher_images *images);

#endif
