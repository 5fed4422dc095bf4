/* Proof that the record in the place of a sample is the sample's own. Files of a store that was copied, moved or put
 * back are known by their place and length alone: records may have changed places. Where the sums do not say that the
 * bytes are those that were written, the record must say who it is, and be known as that; what had no sum when the
 * store was moved, and does not say it, must be what its source still shows. */
#include "core/base/file.h"
#include "core/service/roots.h"
#include "storage/erasure/erasure_record.h"
#include "storage/files/expand.h"
#include "storage/files/owned.h"
#include "storage/keys/key_store.h"
#include "storage/records/key_identify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMPARED_BYTES = 64 << 10 };

void storage_scrub_proof_end(struct erasure_record *erasure)
{
    struct scrub_proof *proof = &erasure->proof;

    if (proof->is_begun)
        storage_sum_proof_end(&proof->sums);
    proof->is_begun = false;
}

struct key_identity storage_scrub_identify(struct eraser *eraser, struct erasure_record *erasure,
                                           const struct located *found)
{
    if (erasure->identifier == NULL)
        erasure->identifier = storage_key_identifier_new(eraser->from);
    return storage_key_identify(erasure->identifier, found);
}

/* ---- what is known of it ---- */

/* A name that the record of a sample says. */
struct said {
    uint64_t id;
    const struct dataset *dataset;
    const struct key_index *index; /* of its kind */
    uint64_t hash;
};

static void keep_of_page(const struct erase_page *page, const struct dataset *dataset,
                         struct key_hits *hits, struct id_list *ids)
{
    for (size_t i = 0; i < hits->count; i++) {
        uint64_t id = storage_dataset_id(dataset, hits->at[i].id);

        if (storage_id_list_has(&page->ids, id))
            storage_id_list_add(ids, id);
    }
    hits->count = 0;
}

/* Samples of the page that have the hash. */
static enum weir_status look_up(struct store *store, const struct erase_page *page,
                                const struct said *said, struct id_list *ids,
                                struct weir_error *err)
{
    struct key_reader reader = {.db = store->db};
    const struct key_source source = storage_key_reader_source(&reader);
    struct key_walk walk = {.hashes = &said->hash, .hash_count = 1};
    struct key_hits hits = {0};
    enum weir_status status = WEIR_OK;

    for (bool is_done = false; status == WEIR_OK && !is_done;) {
        status = storage_key_index_walk(said->index, &walk, &source, &hits, &is_done, err);
        keep_of_page(page, said->dataset, &hits, ids);
    }
    storage_id_list_sort(ids);
    storage_key_walk_fini(&walk);
    storage_key_reader_fini(&reader);
    free(hits.at);
    return status;
}

/* Records of one person come together: the newest come first. NULL: it was not looked up yet. */
static const struct known_hash *find_known(const struct erase_page *page, const struct said *said)
{
    for (size_t i = page->known_count; i-- > 0;) {
        const struct known_hash *known = &page->known[i];
        if (known->hash == said->hash && known->kind == said->index->kind &&
            known->dataset == said->dataset->number)
            return known;
    }
    return NULL;
}

/* The sample was given this hash when it came. A person may have as many samples as there are: a hash is looked up once
 * a page, not once a step. */
static enum weir_status has_hash(struct store *store, struct erase_page *page,
                                 const struct said *said, bool *ret_has, struct weir_error *err)
{
    const struct known_hash *known = find_known(page, said);
    struct known_hash found = {
        .dataset = said->dataset->number, .kind = said->index->kind, .hash = said->hash};
    enum weir_status status = WEIR_OK;

    if (known == NULL) {
        status = look_up(store, page, said, &found.ids, err);
        if (status != WEIR_OK) {
            free(found.ids.at);
            return status;
        }
        page->known =
            weir_grow(page->known, page->known_count, &page->known_capacity, sizeof(*page->known));
        page->known[page->known_count++] = found;
        known = &found;
    }
    *ret_has = storage_id_list_has(&known->ids, said->id);
    return WEIR_OK;
}

/* ---- what it says ---- */

/* By each name that stands in the record itself; false when it has none. */
static enum weir_status is_known_as(struct eraser *eraser, struct erasure_record *erasure,
                                    const struct located *found, uint64_t id, bool *ret_known,
                                    struct weir_error *err)
{
    const struct dataset *dataset = found->dataset;
    const struct key_identity identity = storage_scrub_identify(eraser, erasure, found);
    const struct said subject = {id, dataset, &dataset->subjects, identity.subject.hash};
    const struct said key = {id, dataset, &dataset->keys, identity.key.hash};
    bool has_subject =
        identity.has_subject && storage_key_is_inside(dataset->declaration, FORMAT_SUBJECT);
    bool has_key = identity.has_key && storage_key_is_inside(dataset->declaration, FORMAT_KEY);
    enum weir_status status = WEIR_OK;

    *ret_known = identity.is_known && (has_subject || has_key);
    if (*ret_known && has_subject)
        status = has_hash(eraser->store, &erasure->page, &subject, ret_known, err);
    if (status == WEIR_OK && *ret_known && has_key)
        status = has_hash(eraser->store, &erasure->page, &key, ret_known, err);
    return status;
}

/* ---- what its source says ---- */

/* Opens the file that was copied, if it is untouched since; -1 otherwise. */
static int open_copied(const struct located *found)
{
    const struct dataset *dataset = found->dataset;
    const struct stored_file *file = found->file;
    struct stat now;
    int fd;

    if (!dataset->declaration->is_copied || *dataset->root == '\0' ||
        storage_is_expanded(dataset, file->path))
        return -1;
    fd = weir_open_beneath(dataset->root, file->path, O_RDONLY | O_NONBLOCK);
    if (fd < 0 || (fstat(fd, &now) == 0 && S_ISREG(now.st_mode) &&
                   now.st_ino == file->source_inode && (uint64_t)now.st_size == file->size &&
                   weir_mtime_ns(&now) == file->mtime_ns && weir_roots_allow_open(fd)))
        return fd;
    close(fd);
    return -1;
}

static bool is_at(int fd, uint64_t offset, struct weir_bytes content)
{
    WEIR_AUTO_FREE uint8_t *there = weir_calloc(1, COMPARED_BYTES);
    size_t size;

    for (size_t at = 0; at < content.size; at += size) {
        size = content.size - at < COMPARED_BYTES ? content.size - at : COMPARED_BYTES;
        if (weir_read_at(fd, there, size, offset + at) != (ssize_t)size ||
            memcmp(there, content.at + at, size) != 0)
            return false;
    }
    return true;
}

static bool is_in_source(struct erasure_record *erasure, const struct located *found)
{
    WEIR_AUTO_FD int fd = open_copied(found);
    struct weir_bytes content;
    struct weir_error err;

    return fd >= 0 &&
           storage_window_read(&erasure->source.window,
                               (struct format_range){found->offset, found->length}, &content,
                               &err) == WEIR_OK &&
           is_at(fd, found->offset, content);
}

/* A former erasure has overwritten it, which the sums may not know of: they were restored. */
static bool is_overwritten(struct erasure_record *erasure, const struct located *found)
{
    struct file_window *window = &erasure->source.window;
    struct extent_place place = {.window = window, .payload = {found->offset, found->length}};
    struct extent extent = {0};
    struct stat now;
    struct weir_error err;
    bool is_done;

    if (fstat(window->fd, &now) < 0)
        return false;
    place.size = (uint64_t)now.st_size;
    is_done = storage_extent_read(found->dataset->declaration, &place, &extent, &err) == WEIR_OK &&
              (extent.is_scrubbed || storage_scrub_is_done(window, &extent));
    storage_extent_fini(&extent);
    return is_done;
}

enum weir_status storage_scrub_prove(struct eraser *eraser, struct erasure_record *erasure,
                                     const struct located *found, uint64_t id,
                                     enum scrub_verdict *ret_verdict, struct weir_error *err)
{
    struct scrub_proof *proof = &erasure->proof;
    enum sum_verdict sums = SUMS_HOLD;
    bool is_own = true;
    enum weir_status status;

    if (!proof->is_begun)
        storage_sum_proof_begin(eraser->sums, &proof->sums);
    proof->is_begun = true;
    status = storage_sum_proof_of(&proof->sums, found->dataset, found->file,
                                  (struct format_range){found->offset, found->length}, &sums, err);
    if (status == WEIR_OK && sums != SUMS_HOLD &&
        storage_key_any_is_inside(found->dataset->declaration))
        status = is_known_as(eraser, erasure, found, id, &is_own, err);
    else if (sums == SUMS_DIFFER || sums == SUMS_UNPROVEN)
        is_own = false;
    if (sums == SUMS_UNPROVEN && !is_own)
        is_own = is_in_source(erasure, found);
    *ret_verdict = is_own                           ? SCRUB_OWN
                   : is_overwritten(erasure, found) ? SCRUB_OVERWRITTEN
                   : sums == SUMS_UNPROVEN          ? SCRUB_UNPROVEN
                                                    : SCRUB_OTHER;
    return status;
}
