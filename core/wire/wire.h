/* Messages: structs, names and codecs, all expanded from messages.def. A message is a msgpack array
 * of its fields in declared order; decoders ignore fields they do not know and treat missing
 * trailing fields as zero. Payload bytes never travel inside: they are raw frames beside it
 * (core/rpc/frames.h). */
#ifndef WEIR_WIRE_WIRE_H
#define WEIR_WIRE_WIRE_H

#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/wire/values.h"

enum {
    WEIR_WIRE_HEADER_MAX = 16 << 20, /* bytes of a msgpack header, checked before it is unpacked */
    WEIR_WIRE_FRAMES_MAX = 64,
};

// clang-format off
#define MESSAGE(name, number, roles, doc) __extension__ struct msg_##name { /* some have no member */
#define FIELD(kind, member, doc) WEIR_C_##kind member;
#define END(name) };
// clang-format on
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END

enum weir_message {
    MSG_none = 0,
#define MESSAGE(name, number, roles, doc) MSG_##name = number,
#define FIELD(kind, member, doc)
#define END(name)
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END
};

/* Senders of messages, a bit each. From WORKER on they are let in by keys alone, as trainers elsewhere are. */
enum weir_role {
    WEIR_ROLE_PLATFORM = 1, /* the processes of the platform, and `weir` beside them */
    WEIR_ROLE_TRAINER = 2,
    WEIR_ROLE_PROGRAM = 4, /* of an operator, through its pipes */
    WEIR_ROLE_WORKER = 8,
    WEIR_ROLE_OPERATOR = 16,
    WEIR_ROLE_SUBMITTER = 32,
    WEIR_ROLE_PRIVACY = 64,
    WEIR_ROLE_VIEWER = 128,
    /* Roles that a key may have. */
    WEIR_ROLES_PEOPLE =
        WEIR_ROLE_OPERATOR | WEIR_ROLE_SUBMITTER | WEIR_ROLE_PRIVACY | WEIR_ROLE_VIEWER,
    WEIR_ROLES_KEYED = WEIR_ROLE_TRAINER | WEIR_ROLE_WORKER | WEIR_ROLES_PEOPLE,
};
/* "trainer", for logs and errors. */
const char *weir_role_name(enum weir_role role);
/* The role of that name; 0: none that a key may have. */
unsigned weir_role_of_name(const char *name);

/* Description of a message at run time. NULL for an unknown type. */
struct weir_message_info {
    enum weir_message type;
    unsigned roles; /* senders that may send it, a weir_role each */
    const char *name;
    const char *doc; /* "selector -> storage: …" */
    size_t size;     /* of struct msg_NAME */
    size_t fields;
    const struct weir_field_info *field; /* `fields` of them */
};
struct weir_field_info {
    const char *kind;
    const char *name;
    const char *doc;
    size_t offset;
};
const struct weir_message_info *weir_message_info(enum weir_message type);
/* True when `reply` answers `request` (answers.def). */
bool weir_message_answers(enum weir_message reply, enum weir_message request);
/* All messages in declared order, for docs and tests. */
size_t weir_message_count(void);
const struct weir_message_info *weir_message_at(size_t index);

/* Appends the encoding of *message, which is a struct msg_NAME of `type`. */
void weir_message_pack(enum weir_message type, const void *message, struct weir_buf *out);
/* Decodes into `ret_message` (struct msg_NAME); arrays and strings live in `arena`. Guards against
 * hostile lengths before msgpack-c sees a byte. INVALID: "locate.ids: expected …". */
enum weir_status weir_message_unpack(enum weir_message type, struct weir_bytes bytes,
                                     struct weir_arena *arena, void *ret_message,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
