/* Names of classes that a pipeline file declares. Those that come with samples storage alone knows: they may be
 * people's. */
#ifndef ORCHESTRATOR_CONFIG_CLASSES_H
#define ORCHESTRATOR_CONFIG_CLASSES_H

#include "core/wire/values.h"
#include "orchestrator/config/config.h"

/* Name of the class of that number, from the list that all datasets share; NULL: the file names none. */
const char *orchestrator_config_class_name(const struct orchestrator_config *config,
                                           int64_t number);

/* Names of all classes, in an array that the caller frees; none: the file declares none. */
struct weir_strs orchestrator_config_class_names(const struct orchestrator_config *config,
                                                 const char ***ret_array);

#endif
