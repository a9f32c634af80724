// The stacks of the fibers: one mapping, a guard page below each stack, never given back while the pool lives.
#pragma once

#include "memory.h"

#include <boost/context/stack_context.hpp>

#include <cstddef>

namespace qkprof::emulator {

class Stacks {
  public:
    explicit Stacks(std::size_t count);
    ~Stacks();
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;
    // Stack `index`. Its top is moved by a few cache lines, another number for each of 32 neighbours: hot frames at the
    // same place of every page would fall into the same sets of the host's L1.
    boost::context::stack_context at(std::size_t index) const;

  private:
    Mapping pages_;
};

// Boost.Context's stack allocator for a stack that somebody else owns.
struct BorrowedStack {
    void deallocate(boost::context::stack_context&) noexcept {}
};

}  // namespace qkprof::emulator
