/* The build ID lies in a note of the program's own image, in memory already. */
#include "core/base/program.h"

#include <link.h>
#include <string.h>

static const char VENDOR[] = "GNU";

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

/* Finds the ID among the notes of one segment. */
static struct weir_bytes find_id(struct weir_bytes notes)
{
    ElfW(Nhdr) note;
    for (size_t at = 0; notes.size - at >= sizeof(note);) {
        memcpy(&note, notes.at + at, sizeof(note));
        size_t name = at + sizeof(note), id = name + padded(note.n_namesz);
        if (id > notes.size || note.n_descsz > notes.size - id)
            break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(VENDOR) &&
            memcmp(notes.at + name, VENDOR, sizeof(VENDOR)) == 0)
            return weir_bytes(notes.at + id, note.n_descsz);
        if (padded(note.n_descsz) > notes.size - id)
            break;
        at = id + padded(note.n_descsz);
    }
    return weir_bytes(NULL, 0);
}

/* The first image is that of the program itself; a value other than 0 ends the walk. */
static int look(struct dl_phdr_info *image, size_t size, void *owner)
{
    struct weir_bytes *id = owner;
    (void)size;
    for (ElfW(Half) i = 0; i < image->dlpi_phnum && id->size == 0; i++) {
        const ElfW(Phdr) *segment = &image->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE)
            *id = find_id(
                weir_bytes((const void *)(image->dlpi_addr + segment->p_vaddr), segment->p_memsz));
    }
    return 1;
}

bool weir_program_identify(struct weir_digest *ret_digest)
{
    struct weir_bytes id = weir_bytes(NULL, 0);
    (void)dl_iterate_phdr(look, &id);
    if (id.size == 0)
        return false;
    *ret_digest = weir_digest_of(id);
    return true;
}
