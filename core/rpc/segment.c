/* The owner's side of lent memory: see segment.h. */
#include "core/rpc/segment.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/rpc/segment_layout.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct weir_segment {
    size_t size;                    /* after the head */
    struct weir_segment_head *head; /* NULL: no memory is taken */
    int fd;
    uint64_t ticket; /* newest */
    uint8_t loan[WEIR_LOAN_BYTES];
};

struct weir_segment *weir_segment_new(size_t size)
{
    struct weir_segment *segment = weir_calloc(1, sizeof(*segment));
    weir_require(size <= WEIR_SEGMENT_BYTES_MAX); /* trainers see to it, workers lend a constant */
    segment->size = size;
    segment->fd = -1;
    return segment;
}

static void let_go(struct weir_segment *segment)
{
    if (segment->head != NULL)
        munmap(segment->head, WEIR_SEGMENT_HEAD_BYTES + segment->size);
    if (segment->fd >= 0)
        close(segment->fd);
    segment->head = NULL;
    segment->fd = -1;
}

void weir_segment_free(struct weir_segment *segment)
{
    if (segment == NULL)
        return;
    let_go(segment);
    free(segment);
}

/* All pages are taken here: a borrower must not find out that there are none. */
static bool take_memory(struct weir_segment *segment)
{
    size_t size = WEIR_SEGMENT_HEAD_BYTES + segment->size;
    segment->fd = memfd_create("weir", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (segment->fd < 0 || fallocate(segment->fd, 0, 0, (off_t)size) != 0 ||
        fcntl(segment->fd, F_ADD_SEALS, WEIR_SEGMENT_SEALS) != 0)
        return false;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, segment->fd, 0);
    if (at == MAP_FAILED)
        return false;
    (void)madvise(at, size, MADV_DONTDUMP); /* an old kernel writes it to dumps */
    (void)madvise(at, size, MADV_DONTFORK); /* a child must not keep what is erased here */
    segment->head = at;
    weir_random_bytes(segment->head->key, WEIR_SEGMENT_KEY_BYTES);
    atomic_init(&segment->head->word, weir_segment_word(segment->ticket, WEIR_SEGMENT_IDLE));
    return true;
}

/* False when the memory is being written, and stays with whoever does. */
static bool end_loan(struct weir_segment *segment, uint64_t next)
{
    uint64_t word = atomic_load(&segment->head->word);
    while (word != weir_segment_word(segment->ticket, WEIR_SEGMENT_WRITING)) {
        if (atomic_compare_exchange_weak(&segment->head->word, &word, next))
            return true;
    }
    return false;
}

static void describe(struct weir_segment *segment)
{
    weir_put_u32(segment->loan + WEIR_LOAN_PROCESS, (uint32_t)getpid());
    weir_put_u32(segment->loan + WEIR_LOAN_DESCRIPTOR, (uint32_t)segment->fd);
    weir_put_u64(segment->loan + WEIR_LOAN_SIZE, segment->size);
    memcpy(segment->loan + WEIR_LOAN_KEY, segment->head->key, WEIR_SEGMENT_KEY_BYTES);
    weir_put_u64(segment->loan + WEIR_LOAN_TICKET, segment->ticket);
}

struct weir_bytes weir_segment_lend(struct weir_segment *segment)
{
    uint64_t next = weir_segment_word(segment->ticket + 1, WEIR_SEGMENT_LENT);
    if (segment->head != NULL && !end_loan(segment, next))
        let_go(segment);
    if (segment->head == NULL) {
        if (!take_memory(segment)) {
            let_go(segment);
            return weir_bytes(NULL, 0);
        }
        atomic_store(&segment->head->word, next);
    }
    segment->ticket++;
    describe(segment);
    return weir_bytes(segment->loan, sizeof(segment->loan));
}

bool weir_segment_withdraw(struct weir_segment *segment)
{
    uint64_t lent = weir_segment_word(segment->ticket, WEIR_SEGMENT_LENT);
    return segment->head != NULL &&
           atomic_compare_exchange_strong(&segment->head->word, &lent,
                                          weir_segment_word(segment->ticket, WEIR_SEGMENT_IDLE));
}

struct weir_bytes weir_segment_written(const struct weir_segment *segment, uint64_t size)
{
    if (segment->head == NULL || size > segment->size ||
        atomic_load(&segment->head->word) !=
            weir_segment_word(segment->ticket, WEIR_SEGMENT_WRITTEN))
        return weir_bytes(NULL, 0);
    return weir_bytes((const uint8_t *)segment->head + WEIR_SEGMENT_HEAD_BYTES, size);
}

struct weir_bytes weir_segment_answer(const struct weir_segment *segment, uint64_t written,
                                      const struct weir_frames *frames)
{
    if (written == 0)
        return weir_frames_at(frames, 0);
    return segment != NULL ? weir_segment_written(segment, written) : weir_bytes(NULL, 0);
}
