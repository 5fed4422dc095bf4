/* Runs every file of a corpus folder through a fuzz target, so that ctest replays the corpus with
 * any compiler: replay CORPUS_DIR. Exits 0 when the target survived all of them. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_BYTES_MAX = 1 << 20 };

/* Copies to the heap exactly `size` bytes, so that a sanitizer sees a read past the end. */
static void replay_bytes(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        fprintf(stderr, "replay: out of memory\n");
        exit(1);
    }
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int replay_file(const char *path)
{
    static uint8_t bytes[INPUT_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    int failed = ferror(file);
    fclose(file);
    if (failed) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 1;
    }
    replay_bytes(bytes, size);
    return 0;
}

static int replay_folder(const char *folder, DIR *dir, size_t *ret_count)
{
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= sizeof(path)) {
            fprintf(stderr, "%s/%s: path too long\n", folder, entry->d_name);
            return 1;
        }
        if (replay_file(path) != 0)
            return 1;
        *ret_count += 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: replay CORPUS_DIR\n");
        return 2;
    }
    DIR *dir = opendir(argv[1]);
    if (dir == NULL) {
        perror(argv[1]);
        return 1;
    }
    size_t count = 0;
    int failed = replay_folder(argv[1], dir, &count);
    closedir(dir);
    replay_bytes((const uint8_t *)"", 0);
    if (count == 0)
        fprintf(stderr, "%s: empty corpus\n", argv[1]);
    else if (!failed)
        printf("%zu inputs survived\n", count);
    return failed || count == 0;
}
