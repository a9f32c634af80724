// The NVTX ranges of this process, pushed and popped by any of its libraries, in any domain.
#pragma once

#include <cstdint>

namespace qkprof::inject {

// The innermost open range of the calling thread; 0: none.
std::uint64_t open_range();

}  // namespace qkprof::inject
