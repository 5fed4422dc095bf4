/* Checks of a page's place: see page_place.h. */
#include "orchestrator/values/page_place.h"

#include <stddef.h>

enum weir_status orchestrator_page_place_read(const struct page_place *place,
                                              struct loopback_address *ret_address,
                                              struct weir_error *err)
{
    bool is_loopback;
    if ((place->certificate == NULL) != (place->key == NULL))
        return weir_fail(err, WEIR_INVALID, "expected both a certificate and its key, or neither");
    enum weir_status status =
        orchestrator_any_address_read(place->address, ret_address, &is_loopback, err);
    if (status != WEIR_OK || is_loopback || place->certificate != NULL)
        return status;
    return weir_fail(
        err, WEIR_UNSUPPORTED,
        "%s can be reached from other hosts: expected page.certificate and page.key in "
        "the system file, or an address of the loopback, such as 127.0.0.1:9470",
        place->address);
}

enum weir_status orchestrator_page_place_check(const struct page_place *place,
                                               struct weir_error *err)
{
    struct loopback_address address;
    return place->address == NULL ? WEIR_OK : orchestrator_page_place_read(place, &address, err);
}
