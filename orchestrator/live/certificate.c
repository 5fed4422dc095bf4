/* Two files: see certificate.h. */
#include "orchestrator/live/certificate.h"

#include "core/base/file.h"

#include <sys/stat.h>

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
