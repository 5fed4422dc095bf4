/* One hash per candidate of a dataset that declares a holdout. */
#include "selector/pipelines/holdout.h"

#include "core/base/hash.h"
#include "core/base/rng.h"

struct selector_holdout selector_holdout_make(const char *dataset, double share)
{
    return (struct selector_holdout){
        .seed = weir_hash64(weir_bytes_of(dataset), 0),
        .bound = (uint64_t)(share * 0x1p64),
    };
}

bool selector_holdout_has(const struct selector_holdout *holdout, uint64_t id)
{
    return weir_mix64(weir_mix64(id) ^ holdout->seed) < holdout->bound;
}

void selector_holdout_mask(const struct selector_holdout *holdout, uint64_t block_first, bool held,
                           uint64_t mask[SELECTOR_MASK_WORDS])
{
    for (size_t word = 0; word < SELECTOR_MASK_WORDS; word++)
        for (uint64_t bits = mask[word]; bits; bits &= bits - 1) {
            uint64_t id = block_first + word * 64 + (uint64_t)__builtin_ctzll(bits);
            if (selector_holdout_has(holdout, id) != held)
                mask[word] &= ~(bits & -bits);
        }
}
