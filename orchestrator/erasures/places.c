/* Places: see places.h. Storage counts by the first folder of a path; several of them are one place to a person. */
#include "orchestrator/erasures/places.h"

#include "core/base/memory.h"
#include "orchestrator/values/json_object.h"

#include <stdlib.h>
#include <string.h>

static const char CLUSTER[] = "postgres", OTHERS[] = "other files in the data directory";

static const struct {
    const char *pattern, *place;
} HOLDERS[] = {
#define TABLE(schema, name, holds, is_sealed, purge)
#define FILES(pattern, place, holds, purge) {pattern, place},
#define UNNAMED(process, name, holds, purge)
#include "orchestrator/erasures/holders.def"
#undef TABLE
#undef FILES
#undef UNNAMED
};

static bool is_of(size_t holder, const char *folder, size_t size)
{
    const char *pattern = HOLDERS[holder].pattern;
    return strcspn(pattern, "/") == size && strncmp(pattern, folder, size) == 0;
}

static const char *place_of(const char *folder, size_t size)
{
    for (size_t i = 0; i < WEIR_COUNT(HOLDERS); i++)
        if (is_of(i, folder, size))
            return HOLDERS[i].place;
    return OTHERS;
}

char *orchestrator_places_searched(bool has_cluster)
{
    WEIR_AUTO_BUF names = {0};
    for (size_t i = 0; i < WEIR_COUNT(HOLDERS); i++) {
        const char *folder = HOLDERS[i].pattern;
        size_t size = strcspn(folder, "/");
        if (!is_of(i, CLUSTER, strlen(CLUSTER)) && (i == 0 || !is_of(i - 1, folder, size)))
            weir_buf_printf(&names, "%.*s\n", (int)size, folder);
    }
    if (has_cluster)
        weir_buf_append_text(&names, CLUSTER);
    return weir_strdup(weir_buf_text(&names));
}

static json_t *find_place(const json_t *places, const char *name)
{
    for (size_t i = 0; i < json_array_size(places); i++) {
        json_t *place = json_array_get(places, i);
        if (strcmp(json_string_value(json_object_get(place, "place")), name) == 0)
            return place;
    }
    return NULL;
}

static json_t *add_place(json_t *places, const char *name, bool is_searched)
{
    json_t *place =
        JSON_FIELDS(JSON_TEXT("place", name), JSON_NUMBER("files", 0), JSON_NUMBER("bytes", 0),
                    JSON_NEW("held", json_object()), JSON_FLAG("gone", is_searched));
    json_array_append_new(places, place);
    return place;
}

static void add(json_t *place, const char *key, uint64_t count)
{
    json_t *sum = json_object_get(place, key);
    json_integer_set(sum, json_integer_value(sum) + (json_int_t)count);
}

/* A line of `searched`; returns the next one. */
static const char *add_line(json_t *places, const char *line)
{
    char *folder;
    uint64_t files = strtoull(line, &folder, 10);
    uint64_t bytes = strtoull(folder, &folder, 10);
    folder += *folder == ' ';
    size_t size = strcspn(folder, "\n");
    const char *name = place_of(folder, size);
    json_t *place = find_place(places, name);
    if (place == NULL)
        place = add_place(places, name, true);
    add(place, "files", files);
    add(place, "bytes", bytes);
    return folder + size + (folder[size] == '\n');
}

/* Nothing shows that it is gone from a place that was not searched. */
static void add_held(json_t *places, const char *folder, json_t *counts, bool stays)
{
    const char *name = place_of(folder, strlen(folder));
    json_t *place = find_place(places, name);
    if (json_object_size(counts) == 0)
        return;
    if (place == NULL)
        place = add_place(places, name, false);
    json_object_update(json_object_get(place, "held"), counts);
    if (stays)
        json_object_set_new(place, "gone", json_false());
}

json_t *orchestrator_places_json(const char *searched, json_t *held, const char *stays)
{
    json_t *places = json_array();
    const char *folder;
    json_t *counts;
    if (*searched == '\0')
        return places;
    while (*searched != '\0')
        searched = add_line(places, searched);
    json_object_foreach(held, folder, counts)
    {
        add_held(places, folder, counts, stays != NULL && strcmp(folder, stays) == 0);
    }
    return places;
}
