/* A port, as files and command lines write it. */
#ifndef ORCHESTRATOR_VALUES_PORT_H
#define ORCHESTRATOR_VALUES_PORT_H

#include <stdbool.h>
#include <stdint.h>

enum { PORT_MAX = 65535 };

/* Reads a number of at most PORT_MAX, and nothing after it. */
bool orchestrator_port_read(const char *text, uint16_t *ret_port);

#endif
