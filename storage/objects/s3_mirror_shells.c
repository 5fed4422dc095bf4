/* Files in place of objects that stay where they are: see s3_mirror_state.h and s3_shell.h. */
#include "storage/objects/s3_mirror_state.h"

#include "core/base/memory.h"
#include "storage/files/copy.h"
#include "storage/objects/s3_purge.h"
#include "storage/objects/s3_shell.h"
#include "storage/sql/queries.h"

#include <string.h>

/* ---- shells ---- */

/* The object at hand is what an erasure made of the one that is known, and a death came before that was written down:
 * the same samples. */
static enum weir_status adopt(struct mirror *mirror, const struct s3_object *object,
                              const struct s3_answer *answer, bool *ret_adopted,
                              struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_FREE char *expected = NULL;
    enum weir_status status = DB_RUN(s3_mirror_db(mirror), Q_object_get, &rows, err,
                                     DB_I64(mirror->dataset), DB_BYTES(weir_bytes_of(object->key)));

    *ret_adopted = false;
    if (status != WEIR_OK || weir_rows_count(rows) == 0 || answer->code != 206 ||
        (uint64_t)weir_rows_i64(rows, 0, "size") != object->size)
        return status;
    expected = weir_format("%s: %s", S3_REPLACES, weir_rows_text(rows, 0, "etag"));
    for (const char *const *kept = answer->kept; *kept != NULL; kept++)
        *ret_adopted = *ret_adopted || strcmp(*kept, expected) == 0;
    if (*ret_adopted)
        storage_s3_mirror_forget_ranges(mirror, object->key);
    return *ret_adopted ? storage_s3_mirror_remember(mirror, object, err) : WEIR_OK;
}

static void on_checked(void *owner, const struct s3_answer *answer,
                       const struct weir_error *problem)
{
    struct mirror *mirror = owner;
    size_t *todo = &mirror->todo[mirror->at_todo];
    bool is_adopted = false;
    char text[128];
    struct weir_error err;

    if (answer == NULL) {
        storage_s3_mirror_fail_pass(mirror, problem->text);
        return;
    }
    if (storage_s3_answer_is_passing(answer)) {
        storage_s3_answer_describe(answer, 206, text);
        storage_s3_mirror_fail_pass(mirror, text);
        return;
    }
    if (adopt(mirror, &mirror->page.objects[*todo], answer, &is_adopted, &err) != WEIR_OK) {
        storage_s3_mirror_fail_pass(mirror, err.text);
        return;
    }
    if (is_adopted)
        memmove(todo, todo + 1, (--mirror->todo_count - mirror->at_todo) * sizeof(*todo));
    mirror->at_todo += !is_adopted;
    storage_s3_mirror_check_next(mirror);
}

static void request_first_byte(struct mirror *mirror, const struct s3_object *object)
{
    const struct s3_piece piece = {.key = object->key, .etag = object->etag};
    struct s3_sending sending = {
        .method = "GET", .bytes_max = S3_PAGE_BYTES_MAX, .tries = S3_TRIES};

    storage_s3_request_piece(&mirror->remote, &piece, &sending.request);
    storage_s3_call_send(mirror->listing, &sending, on_checked, mirror);
}

static bool may_be_ours(const struct mirror *mirror, const struct s3_object *object)
{
    return object->size > 0 && storage_s3_mirror_gets_shell(mirror, object) &&
           storage_mirror_rewrites(mirror->mirrors, s3_mirror_dataset(mirror),
                                   storage_s3_mirror_name(mirror, object->key));
}

static enum weir_status put_shell(const struct mirror *mirror, const struct s3_object *object,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = storage_s3_mirror_path(mirror, object->key);
    WEIR_AUTO_FREE char *incoming = weir_format("%s.incoming", mirror->root);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(s3_mirror_db(mirror), Q_object_get, &rows, err,
                                     DB_I64(mirror->dataset), DB_BYTES(weir_bytes_of(object->key)));

    if (status != WEIR_OK)
        return status;
    if (storage_s3_mirror_was_fetched(path, object) &&
        (weir_rows_count(rows) == 0 ||
         weir_rows_i64(rows, 0, "modified_us") != object->modified_us))
        return WEIR_OK;
    storage_s3_mirror_forget_ranges(mirror, object->key);
    return storage_s3_shell_put(incoming, path, object, err);
}

/* The page's new ones; before the first row is written all of them are on disk. */
static enum weir_status put_shells(struct mirror *mirror, size_t *ret_count, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_count = 0;
    for (size_t i = 0; status == WEIR_OK && i < mirror->todo_count; i++) {
        const struct s3_object *object = &mirror->page.objects[mirror->todo[i]];

        if (!storage_s3_mirror_gets_shell(mirror, object))
            continue;
        ++*ret_count;
        status = put_shell(mirror, object, err);
    }
    if (status == WEIR_OK && *ret_count > 0)
        status = storage_copy_sync(s3_mirror_dataset(mirror), err);
    return status;
}

static enum weir_status remember_shells(struct mirror *mirror, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(s3_mirror_db(mirror), err);
    size_t kept = 0;

    for (size_t i = 0; status == WEIR_OK && i < mirror->todo_count; i++) {
        const struct s3_object *object = &mirror->page.objects[mirror->todo[i]];

        if (storage_s3_mirror_gets_shell(mirror, object))
            status = storage_s3_mirror_remember(mirror, object, err);
        else
            mirror->todo[kept++] = mirror->todo[i];
    }
    if (status == WEIR_OK)
        status = weir_db_commit(s3_mirror_db(mirror), err);
    if (status != WEIR_OK)
        weir_db_rollback(s3_mirror_db(mirror));
    mirror->todo_count = kept;
    return status;
}

static void drop_written(struct mirror *mirror)
{
    size_t kept = 0;

    for (size_t i = 0; i < mirror->todo_count; i++) {
        if (!storage_s3_mirror_was_written(mirror, mirror->page.objects[mirror->todo[i]].key))
            mirror->todo[kept++] = mirror->todo[i];
    }
    mirror->todo_count = kept;
}

void storage_s3_mirror_check_next(struct mirror *mirror)
{
    struct weir_error err;
    size_t shells;
    enum weir_status status;

    for (; mirror->at_todo < mirror->todo_count; mirror->at_todo++) {
        const struct s3_object *object = &mirror->page.objects[mirror->todo[mirror->at_todo]];

        if (may_be_ours(mirror, object)) {
            request_first_byte(mirror, object);
            return;
        }
    }
    mirror->at_todo = 0;
    drop_written(mirror);
    status = put_shells(mirror, &shells, &err);
    if (status == WEIR_OK && shells > 0)
        status = remember_shells(mirror, &err);
    if (status == WEIR_OK)
        storage_s3_mirror_fetch_next(mirror);
    else
        storage_s3_mirror_fail_pass(mirror, err.text);
}
