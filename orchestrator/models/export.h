/* A model in a format that others read. */
#ifndef ORCHESTRATOR_MODELS_EXPORT_H
#define ORCHESTRATOR_MODELS_EXPORT_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/wire/wire.h"

#include <jansson.h>

/* Writes a model file (core/wire/model_file.h) to `path`, durably and all or nothing, in the safetensors format: u64
 * bytes of a header in JSON, the header, and the tensors end to end. These are those of orchestrator/models/tensors.h,
 * F32, and where the file has it `fitted_state`, U8. `classes` are the names of its classes, by number; NULL: those
 * that the file has. `facts` (an object of texts) are added to what the file says of itself under `__metadata__`.
 * CORRUPT when the bytes are no model file: a trainer of your own may store any. */
enum weir_status orchestrator_model_export_safetensors(const char *path, struct weir_bytes model,
                                                       const struct weir_strs *classes,
                                                       const json_t *facts,
                                                       struct weir_error *err) WEIR_MUST_USE;

#endif
