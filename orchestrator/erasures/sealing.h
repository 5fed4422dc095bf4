/* The seal: once every holder is purged, tables that held something of people are rewritten without their dead rows,
 * then the write-ahead log is cycled, then storage may search what is left. One seal is for all erasures that wait for
 * it (docs/decisions/009-seal.md). On a connection of its own: no service waits for it but for the tables themselves.
 *
 * Owned by: struct erasures. Survives: a crash anywhere repeats it, which is harmless. */
#ifndef ORCHESTRATOR_ERASURES_SEALING_H
#define ORCHESTRATOR_ERASURES_SEALING_H

#include "orchestrator/context/context.h"

struct sealing;

/* `cluster`: the folder of Postgres; NULL: the server is not Weir's own. */
struct sealing *orchestrator_sealing_new(struct context *context, const char *cluster);
void orchestrator_sealing_free(struct sealing *sealing);
/* Asks storage for erasures that wait, and begins a seal for those that are checked. Nothing happens while one is under
 * way: ask again. */
void orchestrator_sealing_look(struct sealing *sealing);

#endif
