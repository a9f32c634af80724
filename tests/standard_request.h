// What a variant is asked where nothing is said of its parameters: each is standard, or as the built-in table tunes it.
#pragma once

#include "tuning_table.h"

namespace qkprof {

inline Request standard_request(const Variant& variant, const Problem& problem, const Limits& limits,
                                Backend backend = Backend::emulated) {
    return resolve(variant, variant.standard_parameters(), problem, limits, {}, embedded_tuning(backend)).request;
}

}  // namespace qkprof
