/* Format `tar`: WebDataset's shards. Members that follow each other and share their path up to the first dot
 * of the file name are one sample; what comes after the dot names its parts:
 *
 *     n01/0001.jpg  n01/0001.cls  n01/0001.json    one sample, __key__ n01/0001
 *
 * The payload is one part (`sample: jpg`), or the whole sample, headers and all, as a small archive. */
#include "core/base/crc32c.h"
#include "storage/formats/format.h"
#include "storage/formats/json_fields.h"
#include "storage/formats/tar_member.h"

#include "core/base/memory.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PARTS_MAX = 64, EXTENSION_MAX = 63, TEXT_MAX = 64 << 10 };
enum { NUMBER_BITS = 40, SKIPPED_BITS = 24 };

/* The name that an erasure leaves in the place of a sample. */
static const char ERASED[] = ".weir/erased";
static const char KEY[] = "__key__";

struct tar_options {
    struct cfg_texts sample;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(struct tar_options, sample,
              .doc = "the part that is the payload, like jpg, or a list: the first that is there; "
                     "without it the whole sample, as a small archive"),
    CFG_END,
};

struct part {
    char extension[EXTENSION_MAX + 1];
    struct weir_bytes data; /* in the window */
};

/* Members that share a base; all in the window. */
struct group {
    size_t begin, end;
    char base[TAR_NAME_MAX];
    size_t base_size;
    struct part parts[PARTS_MAX];
    size_t count;
    const char *complaint; /* about all of it */
};

/* One index run. */
struct run {
    const struct format_input *input;
    const struct tar_options *options;
    const struct format_fields *fields;
    const struct format_sink *sink;
    struct format_progress progress;
    uint64_t skipped; /* of a sample that was too large: its parts go on; 0: none */
    struct json_fields members[FORMAT_ROLES]; /* each role may look into another part */
    double lists[FORMAT_ROLES][FORMAT_LIST_MAX];
    struct group group;
};

static enum weir_status check(const void *options, const struct format_fields *fields,
                              struct weir_error *err)
{
    const struct cfg_texts *sample = &((const struct tar_options *)options)->sample;

    (void)fields;
    for (size_t i = 0; i < sample->count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(sample->node, i));

        if (name[0] == '.' || name[0] == '\0' || strlen(name) > EXTENSION_MAX)
            return weir_fail(err, WEIR_INVALID,
                             "source.sample: found '%s', expected what follows the first dot, like "
                             "jpg or seg.png",
                             name);
    }
    return WEIR_OK;
}

/* ---- names ---- */

static const char *complaint_of_name(struct weir_bytes name)
{
    if (name.size == 0 || name.size >= TAR_NAME_MAX)
        return "found a member without a name, or one beyond 4095 bytes";
    if (memchr(name.at, 0, name.size) != NULL)
        return "found a zero byte in a name";
    if (name.at[0] == '/')
        return "found an absolute name, expected one inside the archive";
    for (size_t i = 0; i + 1 < name.size; i++) {
        bool begins = i == 0 || name.at[i - 1] == '/';
        bool ends = i + 2 == name.size || name.at[i + 2] == '/';

        if (begins && ends && name.at[i] == '.' && name.at[i + 1] == '.')
            return "found a name with '..', expected one inside the archive";
    }
    return NULL;
}

/* Bytes of `name` before the first dot of its last component; 0: it has no base or no extension. */
static size_t base_of(struct weir_bytes name)
{
    const uint8_t *slash = memrchr(name.at, '/', name.size);
    size_t file = slash != NULL ? (size_t)(slash - name.at) + 1 : 0;
    const uint8_t *dot = memchr(name.at + file, '.', name.size - file);
    size_t base = dot != NULL ? (size_t)(dot - name.at) : 0;

    return base > file && base + 1 < name.size ? base : 0;
}

/* ---- values ---- */

static const struct part *find_part(const struct group *group, const char *name, size_t size)
{
    for (size_t i = 0; i < group->count; i++) {
        const char *extension = group->parts[i].extension;

        if (strlen(extension) == size && strncasecmp(extension, name, size) == 0)
            return &group->parts[i];
    }
    return NULL;
}

/* NULL, or why the part that `name` leads to cannot be read. A name is __key__, a part (cls), or a part that
 * holds a JSON object and a member of it (json.user.id). */
static const char *read_value(struct run *run, enum format_role role,
                              struct format_value *ret_value)
{
    const struct format_field *field = &run->fields->each[role];
    const struct group *group = &run->group;
    const struct part *part = find_part(group, field->name, strlen(field->name));
    struct json_fields *members = &run->members[role];
    const char *dot = strchr(field->name, '.');

    if (strcmp(field->name, KEY) == 0) {
        *ret_value = (struct format_value){.kind = FORMAT_TEXT,
                                           .text = weir_bytes(group->base, group->base_size)};
    } else if (part != NULL) {
        struct weir_bytes text = weir_bytes_trim(part->data);

        if (text.size > TEXT_MAX)
            return "found more than 64 KiB in a part that holds a field, expected less";
        *ret_value = field->count > 0 ? storage_format_list_of(text, run->lists[role])
                                      : (struct format_value){.kind = FORMAT_TEXT, .text = text};
    } else if (dot != NULL && (part = find_part(group, field->name, (size_t)(dot - field->name)))) {
        members->names[role] = dot + 1;
        if (!storage_json_fields_read(members, part->data))
            return "found a part that is no JSON object, expected one because it holds a field";
        *ret_value = storage_json_fields_value(members, role);
    }
    return NULL;
}

static const char *read_values(struct run *run, struct format_sample *sample)
{
    const char *complaint = NULL;

    for (int i = 0; complaint == NULL && i < FORMAT_ROLES; i++) {
        if (run->fields->each[i].from == FORMAT_NAMED)
            complaint = read_value(run, (enum format_role)i, &sample->each[i]);
    }
    return complaint;
}

/* ---- groups ---- */

static void refuse_at(struct run *run, size_t at, const char *reason, bool is_tail)
{
    run->sink->refuse(run->sink->owner, &(struct format_refusal){.offset = run->input->at + at,
                                                                 .record = run->progress.record,
                                                                 .reason = reason,
                                                                 .is_tail = is_tail});
}

static const struct part *payload_of(const struct run *run)
{
    const struct weir_yaml_node *names = run->options->sample.node;

    for (size_t i = 0; i < run->options->sample.count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(names, i));
        const struct part *part = find_part(&run->group, name, strlen(name));

        if (part != NULL)
            return part;
    }
    return NULL;
}

static void emit(struct run *run)
{
    struct group *group = &run->group;
    struct format_range extent = {.offset = run->input->at + group->begin,
                                  .length = group->end - group->begin};
    struct format_sample sample = {.offset = extent.offset,
                                   .length = extent.length,
                                   .record = run->progress.record,
                                   .extent = extent};
    const struct part *payload = payload_of(run);

    if (payload != NULL) {
        sample.offset = run->input->at + (uint64_t)(payload->data.at - run->input->window.at);
        sample.length = payload->data.size;
    }
    if (group->complaint == NULL && run->options->sample.count > 0 && payload == NULL)
        group->complaint = "found no part that 'sample' names, expected one";
    if (group->complaint == NULL && sample.length == 0)
        group->complaint = "found an empty part, expected a payload";
    if (group->complaint == NULL)
        group->complaint = read_values(run, &sample);
    if (group->complaint != NULL)
        refuse_at(run, group->begin, group->complaint, false);
    else
        run->sink->sample(run->sink->owner, &sample);
}

static void add_part(struct group *group, struct weir_bytes name, size_t base,
                     struct weir_bytes data)
{
    struct part *part = &group->parts[group->count];
    const char *extension = (const char *)name.at + base + 1;
    size_t size = name.size - base - 1;

    if (find_part(group, extension, size) != NULL) {
        group->complaint = "found two parts with one extension in a sample, expected one of each";
    } else if (group->count == PARTS_MAX || size > EXTENSION_MAX) {
        group->complaint = "found more than 64 parts, or an extension beyond 63 bytes, in a sample";
    } else {
        memcpy(part->extension, extension, size);
        part->extension[size] = '\0';
        part->data = data;
        group->count++;
    }
}

/* The finding of the walk over members where a group should begin. */
enum found { FOUND_GROUP, FOUND_STEP, FOUND_MORE, FOUND_END };

/* A member that is no part of a sample: stepped over, refused if it is anybody's data. */
static enum found step_over(struct run *run, const struct tar_member *member, size_t at,
                            const char *complaint)
{
    static const char TOO_LONG[] = "found a member that goes on behind the end of the file";
    uint64_t left = run->input->size - run->input->at - at;
    struct format_range all = {.offset = run->input->at + at, .length = member->end};

    if (member->end > left) {
        refuse_at(run, at, TOO_LONG, true);
        return FOUND_END;
    }
    if (weir_bytes_equal(member->name, weir_bytes_of(ERASED))) {
        if (run->sink->scrubbed != NULL)
            run->sink->scrubbed(run->sink->owner, all);
        run->progress.record++;
    } else if (complaint != NULL) {
        refuse_at(run, at, complaint, false);
        run->progress.record++;
    }
    run->progress.consumed = at + member->end;
    return FOUND_STEP;
}

/* Refuses headers that end too early, or cannot be read. */
static enum found end_of_members(struct run *run, const struct tar_member *member, size_t at)
{
    char reason[160];

    if (member->kind == TAR_MORE && !run->input->is_last)
        return FOUND_MORE;
    if (member->kind == TAR_END)
        return FOUND_END;
    if (member->kind == TAR_MORE)
        snprintf(reason, sizeof(reason), "found no end of the archive, expected a block of zeros");
    else
        snprintf(reason, sizeof(reason), "%s: where the next member begins cannot be told",
                 member->complaint);
    refuse_at(run, at, reason, true);
    return FOUND_END;
}

/* Adds the members that belong to the group. FOUND_MORE: it goes on after the window. */
static enum found gather(struct run *run, struct tar_member *member)
{
    struct group *group = &run->group;
    struct weir_bytes window = run->input->window;
    uint64_t left = run->input->size - run->input->at;

    do {
        if (member->end > left - group->end) {
            refuse_at(run, group->end, "found half a sample at the end, expected the rest of it",
                      true);
            return FOUND_END;
        }
        if (member->end > window.size - group->end)
            return FOUND_MORE;
        if (member->kind == TAR_FILE)
            add_part(group, member->name, group->base_size,
                     weir_bytes(window.at + group->end + member->data, (size_t)member->size));
        else if (member->complaint != NULL)
            group->complaint = member->complaint;
        group->end += (size_t)member->end;
        storage_tar_member_read(weir_bytes(window.at + group->end, window.size - group->end),
                                member);
        if (member->kind == TAR_MORE)
            return end_of_members(run, member, group->end);
    } while (member->kind <= TAR_OTHER && complaint_of_name(member->name) == NULL &&
             base_of(member->name) == group->base_size &&
             memcmp(member->name.at, group->base, group->base_size) == 0);
    return FOUND_GROUP;
}

static enum found find_group(struct run *run)
{
    struct group *group = &run->group;
    size_t at = (size_t)run->progress.consumed;
    struct tar_member member;
    const char *complaint;
    size_t base;

    storage_tar_member_read(weir_bytes(run->input->window.at + at, run->input->window.size - at),
                            &member);
    if (member.kind > TAR_OTHER)
        return end_of_members(run, &member, at);
    complaint = complaint_of_name(member.name);
    if (member.kind == TAR_NOTHING)
        return step_over(run, &member, at, NULL);
    base = complaint != NULL ? 0 : base_of(member.name);
    if (base == 0)
        return step_over(run, &member, at,
                         complaint != NULL
                             ? complaint
                             : "found a name without a sample and a part, like 0001.jpg");
    group->begin = group->end = at;
    group->count = 0;
    group->complaint = NULL;
    group->base_size = base;
    memcpy(group->base, member.name.at, base);
    return gather(run, &member);
}

/* Calls keep nothing but the number of the next record: what is being skipped, as a hash, stands above it. */
static void begin_number(struct run *run)
{
    run->progress.record = run->input->record & ((UINT64_C(1) << NUMBER_BITS) - 1);
    run->skipped = run->input->record >> NUMBER_BITS;
}

static uint64_t end_number(const struct run *run)
{
    return run->progress.record | run->skipped << NUMBER_BITS;
}

static uint64_t hash_of(const struct group *group)
{
    return weir_crc32c(weir_bytes(group->base, group->base_size)) >> (32 - SKIPPED_BITS) | 1;
}

/* A sample that no window holds: it is refused once, up to the member that does not fit, which is stepped over;
 * its parts after that one are skipped. */
static void step_over_large(struct run *run)
{
    const struct group *group = &run->group;
    struct tar_member member;

    storage_tar_member_read(
        weir_bytes(run->input->window.at + group->end, run->input->window.size - group->end),
        &member);
    if (run->skipped != hash_of(group)) {
        refuse_at(run, group->begin, "found a sample beyond 16 MiB, expected less", false);
        run->progress.record++;
    }
    run->skipped = hash_of(group);
    run->progress.consumed = group->end + member.end;
    run->progress.is_stuck = run->progress.consumed == 0;
}

static enum weir_status index_members(const struct format_input *input, const void *options,
                                      const struct format_fields *fields,
                                      const struct format_sink *sink,
                                      struct format_progress *ret_progress, struct weir_error *err)
{
    WEIR_AUTO_FREE struct run *run = weir_calloc(1, sizeof(*run));
    enum found found = FOUND_STEP;

    (void)err;
    run->input = input;
    run->options = options;
    run->fields = fields;
    run->sink = sink;
    begin_number(run);
    while ((found == FOUND_GROUP || found == FOUND_STEP) &&
           run->progress.consumed < input->window.size) {
        found = find_group(run);
        if (found != FOUND_GROUP)
            continue;
        if (run->skipped != hash_of(&run->group)) {
            run->skipped = 0;
            emit(run);
            run->progress.record++;
        }
        run->progress.consumed = run->group.end;
    }
    run->progress.is_stuck = found == FOUND_END;
    if (found == FOUND_MORE && run->progress.consumed == 0 && input->is_full && !input->is_last)
        step_over_large(run);
    for (int i = 0; i < FORMAT_ROLES; i++)
        storage_json_fields_fini(&run->members[i]);
    *ret_progress = run->progress;
    ret_progress->record = end_number(run);
    return WEIR_OK;
}

/* One member without content takes the place of all; its name says what happened. */
static void scrub(struct weir_bytes head, const void *options, uint8_t *extent, size_t size)
{
    (void)head;
    (void)options;
    memset(extent, 0, size);
    storage_tar_header_write(extent, ERASED, size - TAR_BLOCK);
}

static struct format_start start(struct weir_bytes head, uint64_t before, uint64_t payload)
{
    (void)head;
    (void)payload;
    return (struct format_start){.at = (before + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK};
}

/* The parts of a whole sample: names in an archive, owners and times are not what it holds. */
static bool canonical(struct weir_bytes head, const void *options, struct weir_bytes record,
                      struct weir_buf *out)
{
    size_t before = out->size;

    (void)head;
    if (((const struct tar_options *)options)->sample.count > 0)
        return false; /* the payload is one part */
    while (record.size > 0) {
        struct tar_member member;
        size_t base;

        storage_tar_member_read(record, &member);
        base = member.kind == TAR_FILE ? base_of(member.name) : 0;
        if (member.end == 0 || member.end > record.size || base == 0) {
            out->size = before;
            return false;
        }
        weir_buf_append_u64(out, member.name.size - base);
        weir_buf_append(out, member.name.at + base, member.name.size - base);
        weir_buf_append_u64(out, member.size);
        weir_buf_append(out, record.at + member.data, (size_t)member.size);
        record = weir_bytes(record.at + member.end, record.size - (size_t)member.end);
    }
    return true;
}

const struct format storage_format_tar = {
    .name = "tar",
    .summary = "WebDataset's shards: members of one base name are a sample; fields are parts of it",
    .options = OPTIONS,
    .options_size = sizeof(struct tar_options),
    .gives = FORMAT_NAMED,
    .check = check,
    .index = index_members,
    .scrub = scrub,
    .start = start,
    .canonical = canonical,
};
