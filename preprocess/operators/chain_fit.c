/* Fitting the operators of a chain (C16): in one pass over the set, so that a fitted operator never
 * reads what another one makes. A partial fit is, for each of them, u64 size and what it folded. */
#include "preprocess/operators/chain_steps.h"

#include "core/base/hash.h"
#include "core/wire/fitted.h"

#include <string.h>

bool preprocess_chain_wants_fit(const struct chain *chain)
{
    return chain->fitted > 0;
}

bool preprocess_chain_wants_samples(const struct chain *chain)
{
    return chain->folding > 0;
}

bool preprocess_chain_has_classes(const struct chain *chain)
{
    return chain->classifies != NULL;
}

void preprocess_chain_classify(const struct chain *chain, const uint64_t *ids, size_t count,
                               uint8_t *ret_classes)
{
    chain->classifies->op->fit->classify(chain->classifies->state, ids, count, ret_classes);
}

static void append_sized(struct weir_buf *out, struct weir_bytes bytes)
{
    weir_buf_append_u64(out, bytes.size);
    weir_buf_append(out, bytes.at, bytes.size);
}

static bool take_sized(struct weir_bytes *rest, struct weir_bytes *ret_bytes)
{
    uint64_t size;
    return weir_take_u64(rest, &size) && weir_take(rest, size, ret_bytes);
}

static void name_of(const struct preprocess_operator *op, char name[WEIR_FITTED_NAME_BYTES])
{
    memset(name, 0, WEIR_FITTED_NAME_BYTES);
    memcpy(name, op->name, strnlen(op->name, WEIR_FITTED_NAME_BYTES - 1));
}

/* ---- folding ---- */

void preprocess_chain_partial_fini(struct chain_partial *partial)
{
    for (size_t i = 0; i < CHAIN_FITTED_MAX; i++)
        weir_buf_fini(&partial->of[i]);
}

void preprocess_chain_partial_pack(const struct chain_partial *partial, struct weir_buf *out)
{
    for (size_t i = 0; i < partial->count; i++)
        append_sized(out, weir_buf_view(&partial->of[i]));
}

/* ---- merging ---- */

enum weir_status preprocess_chain_fit_merge(struct chain *chain, struct weir_bytes partial,
                                            struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (partial.size == 0) /* a group of nothing but holes */
        return WEIR_OK;
    for (size_t i = 0; i < chain->steps && status == WEIR_OK; i++) {
        struct chain_step *step = &chain->step[i];
        struct weir_bytes part;
        if (!operator_folds(step->op))
            continue;
        if (!take_sized(&partial, &part))
            return weir_fail(err, WEIR_INVALID, "partial fit ends before that of %s",
                             step->op->name);
        status = step->op->fit->merge(step->state, part, err);
    }
    if (status == WEIR_OK && partial.size > 0)
        return weir_fail(err, WEIR_INVALID, "partial fit has %zu bytes behind its end",
                         partial.size);
    return status;
}

/* Returns the key that a complaint begins with, or whose value it begins with: of a file, its name. */
static size_t find_key(const struct weir_yaml_node *node, const char *complaint)
{
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        const char *texts[] = {weir_yaml_key(node, i), weir_yaml_text(weir_yaml_value(node, i))};

        for (size_t k = 0; k < WEIR_COUNT(texts); k++) {
            size_t size = texts[k] != NULL ? strlen(texts[k]) : 0;
            if (size > 0 && strncmp(complaint, texts[k], size) == 0 && complaint[size] == ':')
                return i;
        }
    }
    return SIZE_MAX;
}

/* Reads the files that the options of an operator name, and places complaints at the key that does. */
static enum weir_status read_given(const struct chain *chain, struct chain_step *step,
                                   struct weir_buf *fitted, struct weir_error *err)
{
    WEIR_AUTO_BUF place = {0};
    const struct weir_yaml_node *node = weir_yaml_at(chain->operators, step->written);
    enum weir_status status = step->op->fit->finish(step->state, fitted, err);

    if (status == WEIR_OK)
        return status;
    size_t key = find_key(node, err->text);
    weir_yaml_place(key != SIZE_MAX ? weir_yaml_value(node, key) : node, &place);
    return weir_error_wrap(err, status, "%spreprocess.operators: %s", weir_buf_text(&place),
                           step->op->name);
}

static enum weir_status finish_step(const struct chain *chain, struct chain_step *step,
                                    struct weir_buf *fitted, struct weir_error *err)
{
    char name[WEIR_FITTED_NAME_BYTES];
    name_of(step->op, name);
    weir_buf_append(fitted, name, sizeof(name));
    size_t place = fitted->size;
    weir_buf_append(fitted, &(uint64_t){0}, sizeof(uint64_t));
    enum weir_status status = WEIR_OK;
    if (step->inherited.size > 0)
        weir_buf_append(fitted, step->inherited.at, step->inherited.size);
    else if (chain_is_given(step))
        status = read_given(chain, step, fitted, err);
    else
        status = step->op->fit->finish(step->state, fitted, err);
    if (status == WEIR_OK)
        weir_put_u64(fitted->at + place, fitted->size - place - sizeof(uint64_t));
    return status;
}

enum weir_status preprocess_chain_check_files(struct chain *chain, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < chain->steps && status == WEIR_OK; i++) {
        WEIR_AUTO_BUF given = {0};
        struct chain_step *step = &chain->step[i];
        if (chain_is_given(step) && step->inherited.size == 0)
            status = read_given(chain, step, &given, err);
    }
    return status;
}

enum weir_status preprocess_chain_fit_finish(struct chain *chain, struct weir_buf *fitted,
                                             struct weir_error *err)
{
    weir_buf_append(fitted, WEIR_FITTED_MAGIC, WEIR_FITTED_MAGIC_BYTES);
    for (size_t i = 0; i < chain->steps; i++) {
        struct chain_step *step = &chain->step[i];
        enum weir_status status = WEIR_OK;
        if (step->op->fit != NULL)
            status = finish_step(chain, step, fitted, err);
        if (status != WEIR_OK)
            return status;
    }
    struct weir_digest digest = weir_digest_of(weir_buf_view(fitted));
    weir_buf_append(fitted, digest.bytes, sizeof(digest.bytes));
    if (fitted->size <= WEIR_FITTED_MAX)
        return WEIR_OK;
    return weir_fail(err, WEIR_LIMIT,
                     "fitted state of %zu bytes, expected at most %d: have less fitted, or a "
                     "smaller vocabulary",
                     fitted->size, WEIR_FITTED_MAX);
}

/* ---- taking up ---- */

/* Checks the seal and leaves what stands between magic and digest in `ret_body`. */
static enum weir_status open_seal(struct weir_bytes fitted, struct weir_bytes *ret_body,
                                  struct weir_error *err)
{
    if (fitted.size < WEIR_FITTED_MAGIC_BYTES + WEIR_DIGEST_BYTES ||
        memcmp(fitted.at, WEIR_FITTED_MAGIC, WEIR_FITTED_MAGIC_BYTES) != 0)
        return weir_fail(err, WEIR_INVALID, "found %zu bytes, expected fitted state", fitted.size);
    size_t body = fitted.size - WEIR_DIGEST_BYTES;
    struct weir_digest digest = weir_digest_of(weir_bytes(fitted.at, body));
    if (memcmp(digest.bytes, fitted.at + body, WEIR_DIGEST_BYTES) != 0)
        return weir_fail(err, WEIR_CORRUPT, "fitted state fails its checksum");
    *ret_body = weir_bytes(fitted.at + WEIR_FITTED_MAGIC_BYTES, body - WEIR_FITTED_MAGIC_BYTES);
    return WEIR_OK;
}

static enum weir_status take_state(const struct chain_step *step, struct weir_bytes *rest,
                                   struct weir_bytes *ret_state, struct weir_error *err)
{
    char wanted[WEIR_FITTED_NAME_BYTES];
    struct weir_bytes name;
    name_of(step->op, wanted);
    if (!weir_fitted_take(rest, &name, ret_state) || memcmp(name.at, wanted, sizeof(wanted)) != 0)
        return weir_fail(err, WEIR_INVALID, "fitted state of other operators, expected that of %s",
                         step->op->name);
    return WEIR_OK;
}

typedef enum weir_status step_use(struct chain_step *step, struct weir_bytes fitted,
                                  struct weir_error *err);

static enum weir_status load_bounded(struct chain_step *step, struct weir_bytes fitted,
                                     uint64_t *ret_below, struct weir_error *err)
{
    const struct operator_fit *fit = step->op->fit;
    enum weir_status status = fit->load(step->state, fitted, err);
    if (status == WEIR_OK && fit->bound != NULL)
        *ret_below = fit->bound(step->state);
    return status;
}

static enum weir_status load_step(struct chain_step *step, struct weir_bytes fitted,
                                  struct weir_error *err)
{
    return load_bounded(step, fitted, &step->below, err);
}

static enum weir_status extend_step(struct chain_step *step, struct weir_bytes fitted,
                                    struct weir_error *err)
{
    if (chain_is_given(step))
        weir_buf_append(&step->inherited, fitted.at, fitted.size);
    enum weir_status status = WEIR_OK;
    if (step->op->fit->bound != NULL)
        status = load_bounded(step, fitted, &step->below_before, err);
    return status == WEIR_OK && step->op->fit->extend != NULL
               ? step->op->fit->extend(step->state, fitted, err)
               : status;
}

/* Hands the state of each fitted operator to `use`. */
static enum weir_status hand_out(struct chain *chain, struct weir_bytes fitted, step_use *use,
                                 struct weir_error *err)
{
    struct weir_bytes rest, part;
    enum weir_status status = open_seal(fitted, &rest, err);
    for (size_t i = 0; i < chain->steps && status == WEIR_OK; i++) {
        struct chain_step *step = &chain->step[i];
        if (step->op->fit == NULL)
            continue;
        status = take_state(step, &rest, &part, err);
        if (status == WEIR_OK)
            status = use(step, part, err);
    }
    if (status == WEIR_OK && rest.size > 0)
        return weir_fail(err, WEIR_INVALID, "fitted state of more operators than there are");
    return status;
}

enum weir_status preprocess_chain_fit_load(struct chain *chain, struct weir_bytes fitted,
                                           struct weir_error *err)
{
    return preprocess_chain_wants_fit(chain) ? hand_out(chain, fitted, load_step, err) : WEIR_OK;
}

enum weir_status preprocess_chain_fit_extend(struct chain *chain, struct weir_bytes fitted,
                                             struct weir_error *err)
{
    bool extends = false;
    for (size_t i = 0; i < chain->steps; i++) {
        const struct operator_fit *fit = chain->step[i].op->fit;
        extends = extends || (fit != NULL && (fit->extend != NULL || fit->fold == NULL));
    }
    return extends ? hand_out(chain, fitted, extend_step, err) : WEIR_OK;
}
