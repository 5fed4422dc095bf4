/* The borrower's side of lent memory: see segment.h. Everything about a segment comes from a peer. */
#include "core/base/memory.h"
#include "core/rpc/segment.h"
#include "core/rpc/segment_layout.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 64 };

/* A loan as it was sent. */
struct sent {
    uint32_t process, descriptor;
    uint64_t size;
    uint8_t key[WEIR_SEGMENT_KEY_BYTES];
    uint64_t ticket;
};

/* A segment that is mapped. */
struct mapped {
    struct weir_borrowed *borrowed;
    struct weir_segment_head *head; /* NULL: the place is free */
    struct sent sent;               /* its ticket means nothing */
    int owner;                      /* pidfd, watched */
    uint64_t used;                  /* when, by the table's own clock */
};

struct weir_borrowed {
    struct weir_loop *loop;
    dev_t device; /* of anonymous memory on this machine */
    bool is_able; /* there is such memory */
    struct mapped at[WEIR_BORROWED_MAX];
    uint64_t clock;
};

struct weir_borrowed *weir_borrowed_new(struct weir_loop *loop)
{
    struct weir_borrowed *borrowed = weir_calloc(1, sizeof(*borrowed));
    int fd = memfd_create("weir", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stat stat;
    borrowed->loop = loop;
    borrowed->is_able = fd >= 0 && fstat(fd, &stat) == 0;
    if (borrowed->is_able)
        borrowed->device = stat.st_dev;
    if (fd >= 0)
        close(fd);
    return borrowed;
}

static void unmap(struct mapped *mapped)
{
    if (mapped->head == NULL)
        return;
    munmap(mapped->head, WEIR_SEGMENT_HEAD_BYTES + mapped->sent.size);
    weir_loop_unwatch_fd(mapped->borrowed->loop, mapped->owner);
    close(mapped->owner);
    *mapped = (struct mapped){.head = NULL};
}

static void on_owner_ended(void *owner)
{
    unmap(owner);
}

void weir_borrowed_clear(struct weir_borrowed *borrowed)
{
    for (size_t i = 0; i < WEIR_BORROWED_MAX; i++)
        unmap(&borrowed->at[i]);
}

void weir_borrowed_free(struct weir_borrowed *borrowed)
{
    if (borrowed == NULL)
        return;
    weir_borrowed_clear(borrowed);
    free(borrowed);
}

/* ---- reaching the memory of another process ---- */

/* -1 unless it is anonymous memory: nothing else is opened, not even to look at it. */
static int open_memory(const struct weir_borrowed *borrowed, const struct sent *sent)
{
    char path[PATH_BYTES];
    struct stat stat;
    snprintf(path, sizeof(path), "/proc/%u/fd/%u", sent->process, sent->descriptor);
    int found = open(path, O_PATH | O_CLOEXEC);
    if (found < 0)
        return -1;
    bool is_memory =
        fstat(found, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_dev == borrowed->device;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
    int fd = is_memory ? open(path, O_RDWR | O_CLOEXEC) : -1;
    close(found);
    return fd;
}

/* Its size is looked at once it can change no more: pages that are not there would kill whoever writes. */
static bool has_for_good(int fd, size_t size)
{
    struct stat stat;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & WEIR_SEGMENT_SEALS) == WEIR_SEGMENT_SEALS &&
           fstat(fd, &stat) == 0 && (uint64_t)stat.st_size == size;
}

/* NULL unless no page of it can be taken away, and it is what was meant. */
static struct weir_segment_head *map_memory(int fd, const struct sent *sent)
{
    size_t size = WEIR_SEGMENT_HEAD_BYTES + sent->size;
    if (!has_for_good(fd, size))
        return NULL;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    (void)madvise(at, size, MADV_DONTDUMP); /* an old kernel writes it to dumps */
    struct weir_segment_head *head = at;
    if (memcmp(head->key, sent->key, WEIR_SEGMENT_KEY_BYTES) == 0)
        return head;
    munmap(at, size);
    return NULL;
}

static struct weir_segment_head *reach(const struct weir_borrowed *borrowed,
                                       const struct sent *sent)
{
    int fd = open_memory(borrowed, sent);
    if (fd < 0)
        return NULL;
    struct weir_segment_head *head = map_memory(fd, sent);
    close(fd);
    return head;
}

/* ---- the table ---- */

static bool is_of(const struct mapped *mapped, const struct sent *sent)
{
    return mapped->head != NULL && mapped->sent.process == sent->process &&
           mapped->sent.descriptor == sent->descriptor;
}

/* The place of this descriptor, else a free one, else the one that was not used for longest. */
static struct mapped *place_of(struct weir_borrowed *borrowed, const struct sent *sent)
{
    struct mapped *oldest = &borrowed->at[0];
    for (size_t i = 0; i < WEIR_BORROWED_MAX; i++) {
        if (is_of(&borrowed->at[i], sent))
            return &borrowed->at[i];
        if (borrowed->at[i].used < oldest->used)
            oldest = &borrowed->at[i];
    }
    return oldest;
}

/* The process is watched first: if its number is another's by the time it is reached, the key is wrong.
 * What cannot be reached takes nobody's place. */
static bool map_again(struct weir_borrowed *borrowed, struct mapped *place, const struct sent *sent)
{
    int owner = pidfd_open((pid_t)sent->process, 0);
    struct weir_segment_head *head = owner >= 0 ? reach(borrowed, sent) : NULL;
    if (head == NULL) {
        if (owner >= 0)
            close(owner);
        return false;
    }
    unmap(place);
    *place = (struct mapped){.borrowed = borrowed, .head = head, .sent = *sent, .owner = owner};
    weir_loop_watch_fd(borrowed->loop, owner, POLLIN, on_owner_ended, place);
    return true;
}

static bool read_sent(const struct weir_borrowed *borrowed, struct weir_bytes bytes,
                      struct sent *sent)
{
    if (!borrowed->is_able || bytes.size != WEIR_LOAN_BYTES)
        return false;
    sent->process = weir_get_u32(bytes.at + WEIR_LOAN_PROCESS);
    sent->descriptor = weir_get_u32(bytes.at + WEIR_LOAN_DESCRIPTOR);
    sent->size = weir_get_u64(bytes.at + WEIR_LOAN_SIZE);
    memcpy(sent->key, bytes.at + WEIR_LOAN_KEY, WEIR_SEGMENT_KEY_BYTES);
    sent->ticket = weir_get_u64(bytes.at + WEIR_LOAN_TICKET);
    return sent->process <= INT32_MAX && sent->size <= WEIR_SEGMENT_BYTES_MAX;
}

bool weir_loan_claim(struct weir_borrowed *borrowed, struct weir_bytes bytes,
                     struct weir_loan *ret_loan)
{
    struct sent sent;
    if (!read_sent(borrowed, bytes, &sent))
        return false;
    struct mapped *place = place_of(borrowed, &sent);
    bool is_mapped = is_of(place, &sent) && place->sent.size == sent.size &&
                     memcmp(place->sent.key, sent.key, WEIR_SEGMENT_KEY_BYTES) == 0;
    if (!is_mapped && !map_again(borrowed, place, &sent))
        return false;
    place->used = ++borrowed->clock;
    uint64_t lent = weir_segment_word(sent.ticket, WEIR_SEGMENT_LENT);
    if (!atomic_compare_exchange_strong(&place->head->word, &lent,
                                        weir_segment_word(sent.ticket, WEIR_SEGMENT_WRITING)))
        return false;
    *ret_loan = (struct weir_loan){.at = (uint8_t *)place->head + WEIR_SEGMENT_HEAD_BYTES,
                                   .size = sent.size,
                                   .word = &place->head->word,
                                   .ticket = sent.ticket};
    return true;
}

void weir_loan_end(struct weir_loan *loan, bool is_written)
{
    if (loan->at != NULL)
        atomic_store(loan->word, weir_segment_word(loan->ticket, is_written ? WEIR_SEGMENT_WRITTEN
                                                                            : WEIR_SEGMENT_LENT));
    *loan = (struct weir_loan){.at = NULL};
}
