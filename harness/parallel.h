// Work on a range of indices in as many threads as the machine has.
#pragma once

#include <cstdint>
#include <functional>

namespace qkprof {

// Calls f(chunk, first, last) for every piece [first, last) of [0, count) that is `size` long; the last may be shorter.
// The pieces do not depend on the number of threads, so what is kept by chunk and merged in order is the same on every
// machine. An exception of f is thrown again here.
void for_each_chunk(std::int64_t count, std::int64_t size,
                    const std::function<void(std::int64_t chunk, std::int64_t first, std::int64_t last)>& f);

}  // namespace qkprof
