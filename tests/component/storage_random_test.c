/* A tree of files that changes at random while storage watches it, and dies now and then: in the end the live
 * samples are what the files hold, the feed has no gap, no id was given twice, and the accounts add up. The
 * seed is printed; `--seed S` repeats a run, `--rounds N` runs N of each format. */
#include "tests/component/storage_lab.h"
#include "tests/support/loop.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 120, CALM_STEPS = 30, RECORD_BYTES = 16, FOLDERS = 5, NAMES = 9 };

struct kind {
    const char *yaml;
    const char *head;           /* of each file */
    const char *before, *after; /* a record is its number between these */
    bool is_one_sample;
};

static const struct kind KINDS[] = {
    {"  - name: texts\n"
     "    source: {path: %s, format: files, settle: 0ms}\n"
     "    time: {from: mtime}\n",
     "", "sample ", "", true},
    {"  - name: texts\n"
     "    source: {path: %s, format: files, import: copy, settle: 0ms}\n"
     "    time: {from: mtime}\n",
     "", "sample ", "", true},
    {"  - name: texts\n"
     "    source: {path: %s, format: jsonl, settle: 0ms}\n"
     "    time: {from: field, field: ts}\n",
     "", "{\"ts\":1,\"x\":\"", "\"}\n", false},
    {"  - name: texts\n"
     "    source: {path: %s, format: csv, import: copy, settle: 0ms}\n"
     "    time: {from: field, field: ts}\n",
     "ts,x\n", "1,v", "\n", false},
    {"  - name: texts\n"
     "    source: {path: %s, format: binary, record_bytes: 16, settle: 0ms}\n"
     "    time: {from: mtime}\n"
     "    label: {offset: 0, type: u8}\n",
     "", "record  ", "", false},
};

static const char *const FOLDER_NAMES[FOLDERS] = {"", "a/", "a.b/", "a/deep er/", "\xff/"};
static const char *const FILE_NAMES[NAMES] = {"x",         "y",  "a",        "a.b",    "z z",
                                              "new\nline", "a-", "\xc3\xa9", "deep er"};

static struct storage_lab lab;
static uint64_t first_seed;
static unsigned rounds = 2;

struct world {
    const struct kind *kind;
    struct weir_rng rng;
    unsigned next; /* number of the next record: each is its own text */
};

static uint64_t below(struct world *world, uint64_t bound)
{
    return weir_rng_below(&world->rng, bound);
}

/* ---- the tree ---- */

static const char *a_path(struct world *world)
{
    return weir_arena_format(lab.arena, "%s/source/%s%s", lab.dir.path,
                             FOLDER_NAMES[below(world, FOLDERS)], FILE_NAMES[below(world, NAMES)]);
}

static void add_records(struct world *world, struct weir_buf *text, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        weir_buf_printf(text, "%s%08u%s", world->kind->before, world->next++, world->kind->after);
}

static void put(const char *path, const struct weir_buf *text, int flags)
{
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

    if (fd >= 0) /* its folder may be gone, or it may be one itself */
        weir_require(write(fd, text->at, text->size) == (ssize_t)text->size);
}

static void create(struct world *world)
{
    WEIR_AUTO_BUF text = {0};

    weir_buf_append_text(&text, world->kind->head);
    add_records(world, &text, world->kind->is_one_sample ? 1 : 1 + below(world, 20));
    put(a_path(world), &text, O_CREAT | O_TRUNC);
}

/* Under a name that is passed over, then over whatever is there. */
static void create_and_rename(struct world *world)
{
    const char *path = a_path(world);
    const char *name = strrchr(path, '/') + 1;
    const char *hidden = weir_arena_format(lab.arena, "%.*s.%s", (int)(name - path), path, name);
    WEIR_AUTO_BUF text = {0};

    weir_buf_append_text(&text, world->kind->head);
    add_records(world, &text, 1);
    put(hidden, &text, O_CREAT | O_TRUNC);
    if (rename(hidden, path) < 0)
        (void)unlink(hidden);
}

/* In two writes, so that half a record may be seen. */
static void append(struct world *world)
{
    const char *path = a_path(world);
    WEIR_AUTO_BUF text = {0};
    struct weir_buf half;

    if (access(path, F_OK) < 0)
        return;
    add_records(world, &text, world->kind->is_one_sample ? 1 : 1 + below(world, 5));
    half = (struct weir_buf){.at = text.at, .size = below(world, text.size)};
    put(path, &half, O_APPEND);
    if (below(world, 2))
        weir_loop_step(lab.loop, (int64_t)below(world, 30));
    half = (struct weir_buf){.at = text.at + half.size, .size = text.size - half.size};
    put(path, &half, O_APPEND);
}

/* The first record becomes another of the same size. */
static void rewrite(struct world *world)
{
    WEIR_AUTO_BUF text = {0};

    weir_buf_append_text(&text, world->kind->head);
    add_records(world, &text, 1);
    put(a_path(world), &text, 0);
}

static void move_file(struct world *world)
{
    const char *from =
        a_path(world); /* before the other, whatever order a compiler takes arguments in */

    (void)rename(from, a_path(world));
}

static void remove_file(struct world *world)
{
    (void)unlink(a_path(world));
}

static void make_folder(struct world *world)
{
    const char *path = weir_arena_format(lab.arena, "%s/source/%s", lab.dir.path,
                                         FOLDER_NAMES[1 + below(world, FOLDERS - 1)]);

    (void)unlink(weir_arena_strndup(lab.arena, path, strlen(path) - 1));
    (void)mkdir(path, 0700);
}

static void remove_folder(struct world *world)
{
    struct weir_error err;
    const char *path = a_path(world);

    if (below(world, 3) == 0 && weir_remove_tree(path, &err) != WEIR_OK)
        return; /* what was to be its folder is a file */
}

static void touch(struct world *world)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = (time_t)below(world, 1000000000)}};

    (void)utimensat(AT_FDCWD, a_path(world), times, 0);
}

static void change_mode(struct world *world)
{
    (void)chmod(a_path(world), below(world, 2) ? 0700 : 0750);
}

typedef void operation_fn(struct world *world);
static operation_fn *const OPERATIONS[] = {
    create,    create,      create,      create_and_rename, append, append, rewrite,
    move_file, remove_file, make_folder, remove_folder,     touch,  create, change_mode,
};

/* ---- what there should be ---- */

struct texts {
    char **at;
    size_t count, capacity;
};

static void add_text(struct texts *texts, const uint8_t *at, size_t size)
{
    texts->at = weir_grow(texts->at, texts->count, &texts->capacity, sizeof(char *));
    texts->at[texts->count++] = weir_strndup((const char *)at, size);
}

static void clear_texts(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->at[i]);
    free(texts->at);
    *texts = (struct texts){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void cut(const struct kind *kind, struct weir_bytes bytes, struct texts *texts)
{
    size_t at = strlen(kind->head);

    if (kind->is_one_sample && bytes.size > 0)
        add_text(texts, bytes.at, bytes.size);
    for (; !kind->is_one_sample && at < bytes.size;) {
        const uint8_t *end = memchr(bytes.at + at, '\n', bytes.size - at);
        size_t size = end != NULL ? (size_t)(end - bytes.at) - at : RECORD_BYTES;

        if (at + size <= bytes.size)
            add_text(texts, bytes.at + at, size);
        at += size + (end != NULL);
    }
}

static void read_tree(const struct kind *kind, const char *folder, struct texts *texts)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, entry->d_name);
        WEIR_AUTO_BUF bytes = {0};
        struct weir_error err;
        struct stat found;

        if (entry->d_name[0] == '.' || lstat(path, &found) < 0)
            continue;
        if (S_ISDIR(found.st_mode))
            read_tree(kind, path, texts);
        else if (weir_file_read(path, 1 << 20, &bytes, &err) == WEIR_OK)
            cut(kind, weir_buf_view(&bytes), texts);
    }
    if (directory != NULL)
        closedir(directory);
}

/* ---- what there is ---- */

enum life { UNBORN, ALIVE, DEAD };

/* Every row is added once and stops once. False: there are more rows than were counted. */
static bool follow_change(const struct msg_feed_is *feed, size_t i, uint8_t *lives, size_t rows)
{
    enum life from = feed->kinds.at[i] == WEIR_CHANGE_ADDED ? UNBORN : ALIVE;
    uint64_t first = feed->firsts.at[i] - weir_sample_id(1, 0, 0), end = first + feed->counts.at[i];

    if (end > rows)
        return false;
    for (uint64_t row = first; row < end; row++) {
        assert_int_equal(lives[row], from);
        lives[row] = from == UNBORN ? ALIVE : DEAD;
    }
    return true;
}

/* Fills `lives` from the feed, read from its beginning. False: the store has gone on since its rows were counted. */
static bool follow_feed(uint8_t *lives, size_t rows)
{
    uint64_t after = 0;

    for (;;) {
        struct msg_feed_is feed = storage_lab_feed(&lab, 1, "test", after);

        for (size_t i = 0; i < feed.kinds.count; i++) {
            if (!follow_change(&feed, i, lives, rows))
                return false;
        }
        if (feed.kinds.count == 0)
            return true;
        after = feed.sequences.at[feed.sequences.count - 1];
    }
}

static size_t count_alive(const uint8_t *lives, size_t rows)
{
    size_t alive = 0;

    for (size_t row = 0; row < rows; row++)
        alive += lives[row] == ALIVE;
    return alive;
}

static void read_store(struct texts *texts)
{
    struct msg_dataset_is is = storage_lab_dataset(&lab, "texts");
    WEIR_AUTO_FREE uint8_t *lives = weir_calloc(is.ingested + 1, 1);

    assert_int_equal(is.ingested, is.live + is.removed + is.replaced + is.erased);
    if (!follow_feed(lives, is.ingested) || count_alive(lives, is.ingested) != is.live)
        return;
    for (uint64_t row = 0; row < is.ingested; row++) {
        uint32_t state;
        const char *text = lives[row] == ALIVE
                               ? storage_lab_read(&lab, weir_sample_id(1, 0, 0) + row, &state)
                               : NULL;

        if (text != NULL)
            add_text(texts, (const uint8_t *)text, strlen(text));
    }
}

/* Returns the first text of `a` that `b` does not have; both are sorted. */
static const char *first_without(const struct texts *a, const struct texts *b)
{
    size_t at = 0;

    for (size_t i = 0; i < a->count; i++) {
        while (at < b->count && strcmp(b->at[at], a->at[i]) < 0)
            at++;
        if (at == b->count || strcmp(b->at[at++], a->at[i]) != 0)
            return a->at[i];
    }
    return "none";
}

static bool is_equal(const struct texts *a, const struct texts *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->at[i], b->at[i]) != 0)
            return false;
    }
    return true;
}

/* Well before the regular rescan, which would also see what no event told. */
static void check_world(const struct world *world, uint64_t seed)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    WEIR_AUTO_FREE char *source = weir_format("%s/source", lab.dir.path);
    struct texts expected = {0}, found = {0};

    read_tree(world->kind, source, &expected);
    if (expected.count > 1)
        qsort(expected.at, expected.count, sizeof(char *), by_text);
    for (;;) {
        read_store(&found);
        if (found.count > 1)
            qsort(found.at, found.count, sizeof(char *), by_text);
        if (is_equal(&expected, &found))
            break;
        if (weir_now_ms() >= limit_ms)
            fail_msg(
                "--seed %llu: found %zu samples, expected %zu; not found: \"%s\", not expected: "
                "\"%s\"",
                (unsigned long long)seed, found.count, expected.count,
                first_without(&expected, &found), first_without(&found, &expected));
        clear_texts(&found);
        weir_loop_step(lab.loop, 50);
    }
    clear_texts(&expected);
    clear_texts(&found);
}

/* ---- a round ---- */

static void die(struct world *world)
{
    static const char *const FAULTS[] = {NULL,
                                         NULL,
                                         "storage.batch.commit=!2",
                                         "db.commit=!3",
                                         "db.committed=!2",
                                         "storage.batch.commit=2"};

    storage_lab_kill(&lab);
    lab.faults = FAULTS[below(world, WEIR_COUNT(FAULTS))];
    storage_lab_start(&lab);
}

/* A fault may have killed it. */
static void revive(void)
{
    lab.faults = NULL;
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
}

static void run_round(const struct kind *kind, uint64_t seed)
{
    struct world world = {.kind = kind, .next = 1};

    weir_rng_init(&world.rng, seed);
    storage_lab_begin(&lab);
    storage_lab_start(&lab);
    for (int i = 0; i < 10; i++)
        OPERATIONS[below(&world, WEIR_COUNT(OPERATIONS))](&world);
    assert_int_equal(storage_lab_declare(&lab, kind->yaml), WEIR_OK);
    for (int i = 0; i < STEPS; i++) {
        OPERATIONS[below(&world, WEIR_COUNT(OPERATIONS))](&world);
        if (below(&world, 3) == 0)
            weir_loop_step(lab.loop, (int64_t)below(&world, 40));
        if (below(&world, 25) == 0)
            die(&world);
    }
    revive();
    (void)storage_lab_await(&lab, "texts", 0);
    check_world(&world, seed);
    for (int i = 0; i < CALM_STEPS; i++) { /* from here on events alone tell */
        OPERATIONS[below(&world, WEIR_COUNT(OPERATIONS))](&world);
        if (below(&world, 3) == 0)
            weir_loop_step(lab.loop, (int64_t)below(&world, 40));
    }
    check_world(&world, seed);
    storage_lab_end(&lab);
}

static void live_samples_are_what_the_files_hold(void **state)
{
    (void)state;
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t k = 0; k < WEIR_COUNT(KINDS); k++) {
            uint64_t seed = first_seed + round;

            print_message("format %zu --seed %llu\n", k, (unsigned long long)seed);
            run_round(&KINDS[k], seed);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(live_samples_are_what_the_files_hold)};

    first_seed = weir_random_u64() >> 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            first_seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0)
            rounds = (unsigned)strtoul(argv[i + 1], NULL, 10);
    }
    return storage_lab_run(&lab, "storage: a tree that changes", tests, WEIR_COUNT(tests));
}
