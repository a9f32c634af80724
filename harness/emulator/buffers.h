// The device memory of one problem: q, out, the tables and the scratch, each at the alignment that the problem asks
// for.
#pragma once

#include "input.h"
#include "measurement.h"
#include "memory.h"

namespace qkprof::emulator {

class ProblemBuffers {
  public:
    // q and out take no memory before they are touched: a test of a huge problem may fill a few rows only. Throws
    // std::bad_alloc.
    ProblemBuffers(const Problem& problem, std::int64_t scratch_bytes);

    static std::int64_t bytes_needed(const Problem& problem, std::int64_t scratch_bytes);

    // Rows first .. last - 1 of q.
    void fill(std::int64_t first, std::int64_t last);
    // Makes out and scratch NaN.
    void poison();
    // Makes `memory` consist of these buffers.
    void enter(GlobalMemory& memory) const;
    Buffers addresses() const;
    // Compares out with the reference, or for a ceiling with q.
    Verification compare(Family family) const;

    const Problem& problem() const { return problem_; }
    const Tables& tables() const { return tables_; }
    std::byte* q() const { return q_.data() + offset_bytes(); }
    std::byte* out() const { return out_.data() + offset_bytes(); }

  private:
    std::int64_t offset_bytes() const { return problem_.offset * problem_.element_bytes(); }
    const float* cos() const { return reinterpret_cast<const float*>(cos_and_sin_.data()); }
    const float* sin() const { return cos() + tables_.cos.size(); }
    std::uint64_t tensor_bytes() const { return static_cast<std::uint64_t>(problem_.tensor_bytes()); }

    Problem problem_;
    Tables tables_;
    std::uint64_t scratch_bytes_;
    Mapping q_;
    Mapping out_;
    Mapping gamma_;
    Mapping cos_and_sin_;
    Mapping scratch_;
};

}  // namespace qkprof::emulator
