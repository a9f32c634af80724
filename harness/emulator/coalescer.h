// The model of what stands between the multiprocessors and the L2 (the "L2 request coalescer" of NVIDIA's profiler): of
// reads of one line that several multiprocessors ask for at nearly the same time, some reach the L2 as one.
//
// The emulated device has no time. What is near in time is near in the grid: blocks of one launch whose numbers differ
// by less than `near`. How often such reads meet was counted on an H200, in kernels whose blocks share table rows by
// two and by four: four in five among the blocks that start together, one in two later on, when blocks start as others
// end, both only within one half of the chip; and seven in ten in either half while the line comes from DRAM, which
// takes longest.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace qkprof::emulator {

// Spreads numbers that are near to each other.
constexpr std::uint64_t scattered(std::uint64_t value) {
    value *= 0x9e3779b97f4a7c15U;
    value ^= value >> 32U;
    return value * 0xd6e8feb86659fd93U;
}

class Coalescer {
  public:
    // A read by a block that runs on this half of the chip.
    struct Read {
        std::int64_t block = 0;
        unsigned half = 0;
        std::uint64_t line = 0;
        std::uint32_t sectors = 0;
    };

    Coalescer();
    // Of the launch that begins, so many blocks run at once.
    void start_launch(std::int64_t resident_blocks);
    // Whether the read travels with one before it and does not reach the L2 itself.
    bool joins(const Read& read);
    // It has reached the L2, which had it or fetched it.
    void passed(const Read& read, bool from_dram);

  private:
    static constexpr std::int64_t near = 16;
    static constexpr std::size_t slots = 1 << 16;
    enum Kind : std::uint8_t { first_wave, later, while_fetched };
    static constexpr std::array<unsigned, 3> joining_percent = {80, 50, 72};

    struct Passed {
        std::uint64_t line = 0;
        std::int64_t launch = 0;
        std::int64_t block = 0;
        std::uint32_t sectors = 0;
        bool from_dram = false;
    };

    static std::size_t slot_of(std::uint64_t line) { return scattered(line) >> 48U; }
    bool is_near(const Passed& passed, const Read& read) const {
        return passed.line == read.line && passed.launch == launch_ && read.block - passed.block < near;
    }

    std::array<std::vector<Passed>, 2> passed_;  // by half, the last read of each line
    std::array<unsigned, 3> owed_ = {};          // percent of a read, by kind: every so many-th joins
    std::int64_t launch_ = 0;
    std::int64_t resident_blocks_ = 0;
};

}  // namespace qkprof::emulator
