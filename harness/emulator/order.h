// Which access of a block happens before which: what barriers, warp barriers and mbarriers order. A shuffle orders
// nothing: CUDA gives it no such promise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace qkprof::emulator {

// Who accessed: a thread, all lanes of a warp together, or the copies that an mbarrier counts.
inline constexpr unsigned warp_accessor = 1024;  // + the warp
inline constexpr unsigned copy_accessor = 2048;  // + the number of the mbarrier
inline constexpr unsigned most_copy_accessors = 1024;

// When somebody accessed. Epochs count the barriers of all blocks so far, clocks a warp's synchronisations in a block.
struct Stamp {
    static constexpr unsigned epoch_bits = 30;
    static constexpr unsigned clock_bits = 22;

    Stamp() : epoch(0), clock(0), who(0) {}
    Stamp(std::uint64_t epoch_then, std::uint64_t clock_then, unsigned accessor)
        : epoch(epoch_then & ((1U << epoch_bits) - 1)),
          clock(clock_then & ((1U << clock_bits) - 1)),
          who(accessor & 0xfffU) {}

    std::uint64_t epoch : epoch_bits;
    std::uint64_t clock : clock_bits;
    std::uint64_t who : 12;
};

// "All that `who` did up to `clock`".
struct Known {
    unsigned who;
    std::uint64_t clock;
};
using Knowledge = std::vector<Known>;  // one entry for each `who`

void learn(Knowledge& knowledge, const Known& news);
void learn(Knowledge& knowledge, const Knowledge& news);

class Order {
  public:
    // Epochs begin anew, with first_epoch() 1, before they run out.
    void start_block(unsigned threads);
    // All threads of the block, all lanes of the warp meet.
    void block_barrier();
    void warp_barrier(unsigned warp);
    // The thread's accesses so far are made known through an mbarrier; a thread that waited there learns of them.
    void release(unsigned thread, Knowledge& to);
    void acquire(unsigned thread, const Knowledge& from);
    // The thread's ordinary stores so far, and those it knows of, become visible to the bulk engine.
    void fence(unsigned thread);

    Stamp now(unsigned thread) const { return {epoch_, warps_[thread / 32].clock, thread}; }
    Stamp now_of_copies(unsigned barrier, std::uint64_t phases) const {
        return {epoch_, phases, copy_accessor + barrier};
    }
    std::uint64_t epoch() const { return epoch_; }
    std::uint64_t first_epoch() const { return first_epoch_; }  // of the block

    // Whether an access happens before what `thread` does now.
    bool before(const Stamp& access, unsigned thread) const {
        return access.epoch < epoch_ || access.who == thread || known(access, thread);
    }
    // Whether a store is visible to a bulk store that `thread` starts, after which it happens.
    bool fenced(const Stamp& store, unsigned thread) const;

  private:
    struct Warp {
        std::uint64_t clock = 1;
        std::uint64_t met = 0;  // clock at its last warp barrier
        bool knows = false;     // one of its lanes has knowledge
    };
    struct Fence {
        std::uint64_t epoch = 0;
        std::uint64_t clock = 0;
        std::uint64_t met = 0;
    };

    bool known(const Stamp& access, unsigned thread) const;
    bool knows(unsigned thread, unsigned who, std::uint64_t clock) const;
    void tick(Warp& warp);

    std::uint64_t epoch_ = 0;
    std::uint64_t first_epoch_ = 0;
    std::vector<Warp> warps_;
    std::vector<Knowledge> knowledge_;  // of each thread, since the last block barrier
    std::vector<Fence> fences_;         // the last of each thread
};

}  // namespace qkprof::emulator
