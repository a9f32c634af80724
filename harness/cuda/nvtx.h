// NVTX ranges: how a profiler that watches from outside finds the calls of a variant. They are the host's alone, so
// they never enter an interval that the GPU measures, and without a profiler they do nothing.
#pragma once

#include "range_name.h"

#include <nvtx3/nvtx3.hpp>

namespace qkprof::cuda {

struct NvtxDomain {
    static constexpr const char* name = nvtx_domain;  // as nvtx3.hpp wants it
};

// While an object of it lives, what the thread enqueues is in the push/pop range of this name.
using Range = nvtx3::scoped_range_in<NvtxDomain>;

}  // namespace qkprof::cuda
