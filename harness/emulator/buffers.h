// The device memory of one problem: the tensors, what the operation takes beside them and the scratch, each at the
// alignment that the problem asks for.
#pragma once

#include "input.h"
#include "measurement.h"
#include "memory.h"

namespace qkprof::emulator {

class ProblemBuffers {
  public:
    // The tensors take no memory before they are touched: a test of a huge problem may fill a part only. Throws
    // std::bad_alloc.
    ProblemBuffers(const Problem& problem, std::int64_t scratch_bytes);

    static std::int64_t bytes_needed(const Problem& problem, std::int64_t scratch_bytes);

    // Fills elements first .. last - 1 of each tensor's memory with the problem's inputs.
    void fill(std::int64_t first, std::int64_t last);
    void fill();
    // Makes the memory what it is before a call: the scratch NaN, and the results too, or in place the inputs again.
    void restore();
    // Makes `memory` consist of these buffers.
    void enter(GlobalMemory& memory) const;
    // What a call is given.
    Buffers addresses() const;
    // The same, but for q and k: as they were before the call. (They are not what it was given where it is in place.)
    Buffers compared() const;
    // What the call wrote of the results' memory that no result belongs in, as a sentence; empty if nothing.
    std::string trespass() const;
    // Compares the results with the reference, or for a ceiling with the inputs.
    Verification compare(Family family) const;

    const Problem& problem() const { return problem_; }

  private:
    // Two pieces of memory, in place as well as out of place: the inputs, and what takes the results. In place a call
    // is given the second alone, into which restore() copies the first; so the reference has the inputs, and each call
    // can begin with them, without their being made again.
    struct Memory {
        Tensor tensor;
        Mapping input;
        Mapping result;
    };
    std::int64_t offset_bytes() const { return problem_.offset * problem_.element_bytes(); }
    std::uint64_t bytes_of(const Tensor& tensor) const;
    std::byte* input(std::size_t tensor) const;
    std::byte* result(std::size_t tensor) const;

    Problem problem_;
    std::vector<Memory> tensors_;
    Mapping gamma_q_;
    Mapping gamma_k_;
    Mapping tables_;
    Mapping positions_;
    Mapping scratch_;
};

}  // namespace qkprof::emulator
