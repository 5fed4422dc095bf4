/* Everything that messages.def says, as code: the list is included once for each thing that is made
 * from it. What a kind of field looks like is in kinds.c. */
#include "core/wire/wire.h"

#include "core/wire/guard.h"
#include "core/wire/kinds.h"

#include <string.h>

/* The fields of a received message that were not read yet, and what was wrong with the one that was
 * read last. */
struct fields {
    const msgpack_object *next;
    const msgpack_object *end;
    struct weir_arena *arena;
    const char *member;
    const char *complaint; /* NULL: nothing so far */
};

/* Roles, as the list calls them. */
enum {
    PLATFORM = WEIR_ROLE_PLATFORM,
    TRAINER = WEIR_ROLE_TRAINER,
    PROGRAM = WEIR_ROLE_PROGRAM,
    WORKER = WEIR_ROLE_WORKER,
    OPERATOR = WEIR_ROLE_OPERATOR,
    SUBMITTER = WEIR_ROLE_SUBMITTER,
    PEOPLE = WEIR_ROLES_PEOPLE,
};

// clang-format off

/* ROLES_NAME and DOC_NAME: messages are described in their first line, where the size of their table
 * is not known yet. */
#define MESSAGE(name_, number_, roles_, doc_)                     \
    enum { ROLES_##name_ = roles_ };                              \
    static const char DOC_##name_[] = doc_;
#define FIELD(kind_, member_, doc_)
#define END(name_)
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END

/* info_NAME(): the description. The entry after the last field keeps the table of a message
 * without any from being empty. */
#define MESSAGE(name_, number_, roles_, doc_)                     \
    static const struct weir_message_info *info_##name_(void)     \
    {                                                             \
        typedef struct msg_##name_ self;                          \
        static const struct weir_field_info FIELDS[] = {
#define FIELD(kind_, member_, doc_)                               \
            {#kind_, #member_, doc_, offsetof(self, member_)},
#define END(name_)                                                \
            {NULL, NULL, NULL, sizeof(self)},                     \
        };                                                        \
        static const struct weir_message_info INFO = {            \
            .type = MSG_##name_, .roles = ROLES_##name_,          \
            .name = #name_, .doc = DOC_##name_,                   \
            .size = sizeof(self),                                 \
            .fields = WEIR_COUNT(FIELDS) - 1, .field = FIELDS,    \
        };                                                        \
        return &INFO;                                             \
    }
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END

/* pack_NAME(): the fields after the array's head. */
#define MESSAGE(name_, number_, roles_, doc_)                                \
    static void pack_##name_(const void *message, msgpack_packer *out)       \
    {                                                                        \
        const struct msg_##name_ *msg = message;                             \
        (void)msg, (void)out;
#define FIELD(kind_, member_, doc_) weir_kind_pack_##kind_(out, msg->member_);
#define END(name_) }
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END

/* next_KIND(): takes the next field, unless there is none or one before it was wrong. */
#define X(kind_)                                                                            \
    static void next_##kind_(struct fields *in, const char *member, WEIR_C_##kind_ *value)  \
    {                                                                                       \
        if (in->complaint != NULL || in->next == in->end)                                   \
            return;                                                                         \
        in->member = member;                                                                \
        in->complaint = weir_kind_unpack_##kind_(in->next++, in->arena, value);             \
    }
WEIR_KIND_LIST(X)
#undef X

/* unpack_NAME(): stops at the first complaint; fields that are not there stay as they are. */
#define MESSAGE(name_, number_, roles_, doc_)                                \
    static void unpack_##name_(struct fields *in, void *message)             \
    {                                                                        \
        struct msg_##name_ *msg = message;                                   \
        (void)msg, (void)in;
#define FIELD(kind_, member_, doc_) next_##kind_(in, #member_, &msg->member_);
#define END(name_) }
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END

/* All of it in one row per message, in declared order. */
static const struct codec {
    const struct weir_message_info *(*info)(void);
    void (*pack)(const void *message, msgpack_packer *out);
    void (*unpack)(struct fields *in, void *message);
} CODECS[] = {
#define MESSAGE(name_, number_, roles_, doc_) {info_##name_, pack_##name_, unpack_##name_},
#define FIELD(kind_, member_, doc_)
#define END(name_)
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END
};

/* From a message's number to its row, counted from 1. A number that is given twice does not compile
 * with clang. */
enum {
#define MESSAGE(name_, number_, roles_, doc_) ROW_OF_##name_,
#define FIELD(kind_, member_, doc_)
#define END(name_)
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END
};
static const uint16_t ROWS[] = {
#define MESSAGE(name_, number_, roles_, doc_) [number_] = ROW_OF_##name_ + 1,
#define FIELD(kind_, member_, doc_)
#define END(name_)
#include "core/wire/messages.def"
#undef MESSAGE
#undef FIELD
#undef END
};
// clang-format on

static const struct codec *find_codec(enum weir_message type)
{
    size_t number = (size_t)type;
    if (number >= WEIR_COUNT(ROWS) || ROWS[number] == 0)
        return NULL;
    return &CODECS[ROWS[number] - 1];
}

const struct weir_message_info *weir_message_info(enum weir_message type)
{
    const struct codec *codec = find_codec(type);
    return codec != NULL ? codec->info() : NULL;
}

static const struct {
    enum weir_role role;
    const char *name;
} ROLE_NAMES[] = {
    {WEIR_ROLE_PLATFORM, "platform"}, {WEIR_ROLE_TRAINER, "trainer"},
    {WEIR_ROLE_PROGRAM, "program"},   {WEIR_ROLE_WORKER, "worker"},
    {WEIR_ROLE_OPERATOR, "operator"}, {WEIR_ROLE_SUBMITTER, "submitter"},
    {WEIR_ROLE_PRIVACY, "privacy"},   {WEIR_ROLE_VIEWER, "viewer"},
};

const char *weir_role_name(enum weir_role role)
{
    for (size_t i = 0; i < WEIR_COUNT(ROLE_NAMES); i++)
        if (ROLE_NAMES[i].role == role)
            return ROLE_NAMES[i].name;
    return "unknown";
}

unsigned weir_role_of_name(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ROLE_NAMES); i++)
        if ((ROLE_NAMES[i].role & WEIR_ROLES_KEYED) != 0 && strcmp(ROLE_NAMES[i].name, name) == 0)
            return ROLE_NAMES[i].role;
    return 0;
}

bool weir_message_answers(enum weir_message reply, enum weir_message request)
{
    static const struct {
        uint16_t request, reply;
    } ANSWERS[] = {
#define ANSWER(request, reply) {MSG_##request, MSG_##reply},
#include "core/wire/answers.def"
#undef ANSWER
    };

    for (size_t i = 0; i < WEIR_COUNT(ANSWERS); i++) {
        if (ANSWERS[i].request == request && ANSWERS[i].reply == reply)
            return true;
    }
    return reply == MSG_error;
}

size_t weir_message_count(void)
{
    return WEIR_COUNT(CODECS);
}

const struct weir_message_info *weir_message_at(size_t index)
{
    weir_require(index < WEIR_COUNT(CODECS));
    return CODECS[index].info();
}

static int append_packed(void *out, const char *bytes, size_t size)
{
    weir_buf_append(out, bytes, size);
    return 0;
}

void weir_message_pack(enum weir_message type, const void *message, struct weir_buf *out)
{
    const struct codec *codec = find_codec(type);
    msgpack_packer packer;

    weir_require(codec != NULL);
    msgpack_packer_init(&packer, out, append_packed);
    msgpack_pack_array(&packer, codec->info()->fields);
    codec->pack(message, &packer);
}

/* Strings are never NULL, not even those that a shorter message leaves out. */
static void fill_strings(const struct weir_message_info *info, void *message)
{
    for (size_t i = 0; i < info->fields; i++) {
        if (weir_str_equal(info->field[i].kind, "str") ||
            weir_str_equal(info->field[i].kind, "raw"))
            *(const char **)(void *)((char *)message + info->field[i].offset) = "";
    }
}

static enum weir_status unpack_fields(const struct codec *codec, const msgpack_object *object,
                                      struct weir_arena *arena, void *ret_message,
                                      struct weir_error *err)
{
    const struct weir_message_info *info = codec->info();

    if (object->type != MSGPACK_OBJECT_ARRAY)
        return weir_fail(err, WEIR_INVALID, "%s: expected an array of fields", info->name);
    struct fields in = {.next = object->via.array.ptr, .arena = arena};
    in.end = object->via.array.size > 0 ? in.next + object->via.array.size : in.next;
    void *message = weir_arena_alloc(arena, info->size);
    fill_strings(info, message);
    codec->unpack(&in, message);
    if (in.complaint != NULL)
        return weir_fail(err, WEIR_INVALID, "%s.%s: %s", info->name, in.member, in.complaint);
    memcpy(ret_message, message, info->size);
    return WEIR_OK;
}

enum weir_status weir_message_unpack(enum weir_message type, struct weir_bytes bytes,
                                     struct weir_arena *arena, void *ret_message,
                                     struct weir_error *err)
{
    const struct codec *codec = find_codec(type);
    if (codec == NULL)
        return weir_fail(err, WEIR_UNSUPPORTED, "message type 0x%04x: unknown", (unsigned)type);
    const char *name = codec->info()->name;
    if (bytes.size > WEIR_WIRE_HEADER_MAX)
        return weir_fail(err, WEIR_LIMIT, "%s: %zu bytes, expected at most %d", name, bytes.size,
                         WEIR_WIRE_HEADER_MAX);
    enum weir_status status = weir_guard(bytes, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "%s", name);

    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    if (msgpack_unpack_next(&unpacked, (const char *)bytes.at, bytes.size, NULL) !=
        MSGPACK_UNPACK_SUCCESS)
        status = weir_fail(err, WEIR_INVALID, "%s: malformed", name);
    else
        status = unpack_fields(codec, &unpacked.data, arena, ret_message, err);
    msgpack_unpacked_destroy(&unpacked);
    return status;
}
