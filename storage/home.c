/* Directories and databases that belong together: see home.h. */
#include "storage/home.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/sql/queries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_BYTES_MAX = 4096, IDENTITY_BYTES = 16 };

static const char HEAD[] = "weir store ";
static const char REST[] = "\nMade when storage first opened this directory: it tells a copy from "
                           "the original.\n";

static void fini(struct home *home)
{
    free(home->place);
    free(home->cluster);
    *home = (struct home){0};
}

void storage_homes_fini(struct homes *homes)
{
    fini(&homes->recorded);
    fini(&homes->here);
}

/* ---- deciding ---- */

static bool is_elsewhere(const struct home *recorded, const struct home *here)
{
    return recorded->place[0] != '\0' && strcmp(recorded->place, here->place) != 0;
}

enum home_verdict storage_home_judge(const struct home *recorded, const struct home *here,
                                     bool has_original)
{
    if (here->identity[0] != '\0' && strcmp(here->identity, recorded->identity) != 0)
        return HOME_FOREIGN;
    if (has_original && is_elsewhere(recorded, here) &&
        strcmp(recorded->cluster, here->cluster) == 0)
        return HOME_SHARED;
    return recorded->inode != 0 && recorded->inode == here->inode &&
                   recorded->changed_ns == here->changed_ns && !is_elsewhere(recorded, here)
               ? HOME_KEPT
               : HOME_ELSEWHERE;
}

/* ---- the file ---- */

static char *file_of(const char *data_dir)
{
    return weir_format("%s/storage/.home", data_dir);
}

static enum weir_status look(const char *path, struct home *home, struct weir_error *err)
{
    struct stat found;

    if (lstat(path, &found) < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot stat: %s", path, strerror(errno));
    home->inode = (int64_t)found.st_ino;
    home->changed_ns = weir_ctime_ns(&found);
    return WEIR_OK;
}

/* Without an identity where there is no file, or one of an older Weir. */
static enum weir_status read_file(const char *data_dir, struct home *home, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = file_of(data_dir);
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(path, FILE_BYTES_MAX, &text, err);
    const char *identity;

    if (status != WEIR_OK)
        return status == WEIR_NOT_FOUND ? WEIR_OK : status;
    identity = weir_buf_text(&text) + sizeof(HEAD) - 1;
    if (strncmp(weir_buf_text(&text), HEAD, sizeof(HEAD) - 1) == 0 &&
        strspn(identity, "0123456789abcdef") == HOME_IDENTITY_MAX - 1)
        memcpy(home->identity, identity, HOME_IDENTITY_MAX - 1);
    return look(path, home, err);
}

static bool has_original(const struct home *recorded)
{
    struct home there = {0};
    struct weir_error err;

    return recorded->place[0] == '/' && recorded->identity[0] != '\0' &&
           read_file(recorded->place, &there, &err) == WEIR_OK &&
           strcmp(there.identity, recorded->identity) == 0;
}

/* ---- the database ---- */

static char *text_of(struct weir_bytes bytes)
{
    return weir_strndup(bytes.size > 0 ? (const char *)bytes.at : "", bytes.size);
}

static enum weir_status read_recorded(struct weir_db *db, struct homes *homes,
                                      struct weir_error *err)
{
    struct home *recorded = &homes->recorded;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_home, &rows, err);

    if (status != WEIR_OK)
        return status;
    homes->is_recorded = weir_rows_count(rows) > 0;
    if (!homes->is_recorded) {
        recorded->place = weir_strdup("");
        recorded->cluster = weir_strdup("");
        return WEIR_OK;
    }
    recorded->inode = weir_rows_i64(rows, 0, "inode");
    recorded->changed_ns = weir_rows_i64(rows, 0, "changed_ns");
    strncat(recorded->identity, weir_rows_text(rows, 0, "identity"), HOME_IDENTITY_MAX - 1);
    recorded->place = text_of(weir_rows_bytes(rows, 0, "place"));
    recorded->cluster = text_of(weir_rows_bytes(rows, 0, "cluster"));
    return WEIR_OK;
}

/* Somebody else's server may keep to itself where its files are. */
static enum weir_status read_cluster(struct weir_db *db, struct home *here, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_cluster, &rows, err);

    if (status == WEIR_OK)
        here->cluster =
            weir_strdup(weir_rows_count(rows) > 0 ? weir_rows_text(rows, 0, "setting") : "");
    return status;
}

enum weir_status storage_home_put(struct weir_db *db, const struct home *here,
                                  struct weir_error *err)
{
    return DB_RUN(db, Q_home_put, NULL, err, DB_I64(here->inode), DB_I64(here->changed_ns),
                  DB_TEXT(here->identity), DB_BYTES(weir_bytes_of(here->place)),
                  DB_BYTES(weir_bytes_of(here->cluster)));
}

/* ---- both ---- */

static enum weir_status refuse(const struct homes *homes, struct weir_error *err)
{
    const struct home *recorded = &homes->recorded;

    switch (homes->verdict) {
    case HOME_KEPT:
    case HOME_ELSEWHERE:
        return WEIR_OK;
    case HOME_FOREIGN:
        return weir_fail(err, WEIR_CORRUPT,
                         "data directory %s was used with another database, found %s: copy or "
                         "restore the database along with it",
                         homes->here.place,
                         homes->is_recorded ? "that of another store" : "an empty one");
    case HOME_SHARED:
        return weir_fail(err, WEIR_CORRUPT,
                         "data directory %s is a copy of %s, whose database is still that of %s: "
                         "give the copy a copy of the database (postgres.location says where it "
                         "lies), or remove %s",
                         homes->here.place, recorded->place, recorded->place, recorded->place);
    }
    return WEIR_OK;
}

enum weir_status storage_home_open(struct weir_db *db, const char *data_dir,
                                   struct homes *ret_homes, struct weir_error *err)
{
    struct homes *homes = ret_homes;
    enum weir_status status = read_recorded(db, homes, err);

    homes->here.place = weir_strdup(data_dir);
    if (status == WEIR_OK)
        status = read_cluster(db, &homes->here, err);
    if (status == WEIR_OK)
        status = read_file(data_dir, &homes->here, err);
    if (status != WEIR_OK)
        return status;
    homes->verdict =
        storage_home_judge(&homes->recorded, &homes->here, has_original(&homes->recorded));
    return refuse(homes, err);
}

static enum weir_status write_file(const char *data_dir, struct home *here, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = file_of(data_dir);
    WEIR_AUTO_FREE char *folder = weir_format("%s/storage", data_dir);
    WEIR_AUTO_FREE char *text = weir_format("%s%s%s", HEAD, here->identity, REST);
    enum weir_status status = weir_make_directories(folder, 0700, err);

    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, weir_bytes_of(text), err);
    return status == WEIR_OK ? look(path, here, err) : status;
}

/* Into the database first: an identity that stands in a directory is one that its database has. */
static enum weir_status draw(struct weir_db *db, struct home *recorded, struct weir_error *err)
{
    uint8_t bytes[IDENTITY_BYTES];

    weir_random_bytes(bytes, sizeof(bytes));
    weir_hex(bytes, sizeof(bytes), recorded->identity);
    return storage_home_put(db, recorded, err);
}

enum weir_status storage_home_make(struct weir_db *db, const char *data_dir, struct homes *homes,
                                   struct weir_error *err)
{
    struct home *recorded = &homes->recorded, *here = &homes->here;
    enum weir_status status = WEIR_OK;

    if (recorded->identity[0] == '\0')
        status = draw(db, recorded, err);
    if (status != WEIR_OK || here->identity[0] != '\0')
        return status;
    memcpy(here->identity, recorded->identity, sizeof(here->identity));
    return write_file(data_dir, here, err);
}
