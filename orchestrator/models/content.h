/* The bytes of a stored model, whether it is stored whole or as a chain of deltas. Every read that goes through here
 * is checked against the checksum that was committed with the model. */
#ifndef ORCHESTRATOR_MODELS_CONTENT_H
#define ORCHESTRATOR_MODELS_CONTENT_H

#include "orchestrator/models/store.h"

/* The name of a model's file in the folder of the run that starts from it. */
#define ORCHESTRATOR_BASE_FILE "base.weirmodel"

struct model_content {
    struct weir_bytes bytes;
    void *mapped; /* private: a whole file */
    size_t mapped_size;
    struct weir_buf built; /* private: put together from deltas */
};

/* The rows of the models that the file of a model is a difference from: its base, the base of that, up to one that is
 * stored whole. Zeroed is fine. */
struct model_chain {
    struct stored_model *at;
    size_t count;
};
enum weir_status orchestrator_model_chain(struct context *context, const struct stored_model *model,
                                          struct model_chain *ret_chain,
                                          struct weir_error *err) WEIR_MUST_USE;
void orchestrator_model_chain_fini(struct model_chain *chain);

/* Reads the files alone, on any thread. NOT_FOUND when one is gone, CORRUPT when the bytes are not what was stored.
 * Release with orchestrator_model_content_fini(). */
enum weir_status orchestrator_model_content_by(const struct context *context,
                                               const struct stored_model *model,
                                               const struct model_chain *chain,
                                               struct model_content *ret_content,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Both. */
enum weir_status orchestrator_model_content(struct context *context,
                                            const struct stored_model *model,
                                            struct model_content *ret_content,
                                            struct weir_error *err) WEIR_MUST_USE;
void orchestrator_model_content_fini(struct model_content *content); /* zeroed is fine */

/* A file that holds the model, for a trainer: its own, or one put together in `directory`. */
enum weir_status orchestrator_model_file(struct context *context, const struct stored_model *model,
                                         const char *directory, char **ret_path,
                                         struct weir_error *err) WEIR_MUST_USE;
/* The file at `path`, which a person has named, copied into `directory` for a trainer; the fitted state in it is
 * appended to `fitted`. DENIED outside of the roots, NOT_FOUND, LIMIT; CORRUPT for a model file that is damaged. */
enum weir_status orchestrator_model_given_file(const char *path, const char *directory,
                                               char **ret_path, struct weir_buf *fitted,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Stores every live model whose file is the difference from this one whole, so that this one's may go. May be
 * repeated. */
enum weir_status orchestrator_model_release(struct context *context, const char *id,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
