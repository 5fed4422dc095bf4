/* Names of classes that a pipeline file declares. Those that come with samples storage alone knows: they may be
 * people's. */
#ifndef ORCHESTRATOR_CONFIG_CLASSES_H
#define ORCHESTRATOR_CONFIG_CLASSES_H

#include "orchestrator/config/config.h"

/* Name of the class of that number, from the list that all datasets share; NULL: the file names none. */
const char *orchestrator_config_class_name(const struct orchestrator_config *config,
                                           int64_t number);

#endif
