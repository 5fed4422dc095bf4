/* Two files: see certificate.h. */
#include "orchestrator/live/certificate.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PEM_BYTES_MAX = 1 << 20 };

static enum weir_status check_private(const char *path, struct weir_error *err)
{
    struct stat file;
    if (stat(path, &file) != 0 || (file.st_mode & (S_IRWXG | S_IRWXO)) == 0)
        return WEIR_OK; /* reading it tells what is wrong */
    return weir_fail(err, WEIR_DENIED,
                     "page: others may read the key %s: expected mode 0600, found %04o", path,
                     (unsigned)(file.st_mode & 0777));
}

enum weir_status orchestrator_live_certificate_read(const char *certificate, const char *key,
                                                    struct live_certificate *ret_certificate,
                                                    struct weir_error *err)
{
    *ret_certificate = (struct live_certificate){.key = {0}};
    enum weir_status status = check_private(key, err);
    if (status == WEIR_OK)
        status = weir_file_read(certificate, PEM_BYTES_MAX, &ret_certificate->certificate, err);
    if (status == WEIR_OK)
        status = weir_file_read(key, PEM_BYTES_MAX, &ret_certificate->key, err);
    return status;
}

void orchestrator_live_certificate_fini(struct live_certificate *certificate)
{
    weir_buf_wipe(&certificate->key);
    weir_buf_fini(&certificate->key);
    weir_buf_fini(&certificate->certificate);
}

/* ---- new files ---- */

/* A file that is not there is all zeros. */
static void look_at(const struct live_certificate_files *files, struct stat ret_now[2])
{
    const char *const paths[] = {files->certificate, files->key};
    for (size_t i = 0; i < WEIR_COUNT(paths); i++)
        if (stat(paths[i], &ret_now[i]) != 0)
            ret_now[i] = (struct stat){.st_ino = 0};
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool are_same(const struct stat a[2], const struct stat b[2])
{
    return is_same(&a[0], &b[0]) && is_same(&a[1], &b[1]);
}

void orchestrator_live_certificate_files_init(struct live_certificate_files *files,
                                              const char *certificate, const char *key)
{
    files->certificate = weir_strdup(certificate);
    files->key = weir_strdup(key);
    look_at(files, files->read);
    memcpy(files->seen, files->read, sizeof(files->seen));
}

bool orchestrator_live_certificate_files_look(struct live_certificate_files *files)
{
    struct stat now[2];
    look_at(files, now);
    bool is_new = !are_same(now, files->read) && are_same(now, files->seen);
    memcpy(files->seen, now, sizeof(now));
    if (is_new)
        memcpy(files->read, now, sizeof(now));
    return is_new;
}

void orchestrator_live_certificate_files_fini(struct live_certificate_files *files)
{
    free(files->certificate);
    free(files->key);
}
