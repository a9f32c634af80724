// The model of the caches: a sectored L1 for each SM, write-through, and a sectored write-back L2. What it says is
// modelled, never counted; tests/agreement.cpp holds it against the counters of an H200 and states where it differs.
//
// - Block b runs on SM b % SMs. An L1 has what the SM's 256 KiB leave beside the shared memory of the blocks that run
//   there at once, and is empty when a launch begins.
// - Reads of one line by several SMs at nearly the same time reach the L2 as one (coalescer.h).
// - The L2 is two halves, one beside each half of the SMs. Each line has one half as its home, where it is written and
//   where DRAM is read; read from the other half, it is kept there too, so that read data take half as much room again.
//   This is why a copy whose buffers together are smaller than the L2 does not stay there: an H200 (60 MiB) keeps 32
//   and not 48 MiB. Lines read to be evicted first take no second place.
// - A set's victim is the line least recently used, of those of the lowest class: to be evicted first, normal, kept.
// - What a call has written and still lies in the L2 when the call ends is not counted as written to DRAM, neither by
//   this model nor by the hardware's counters.
#pragma once

#include "coalescer.h"
#include "recorder.h"

#include <array>
#include <cstdint>
#include <vector>

namespace qkprof::emulator {

// A set-associative cache of 128-byte lines with four 32-byte sectors. The victim is the line of the lowest rank: rank
// is the priority class, then the time of the last use.
class SectoredCache {
  public:
    enum class Class : std::uint8_t { evict_first, normal, keep };

    struct Line {
        std::uint64_t tag = 0;  // address / 128 + 1; 0: empty
        std::uint64_t rank = 0;
        std::uint64_t pairs = 0;  // bit i: bytes 2i and 2i + 1 are here
        std::uint32_t dirty = 0;  // bit i: sector i is newer than the level below
    };

    SectoredCache(std::int64_t bytes, unsigned ways);

    // The line, or nullptr when it is not here. A hit is a use.
    Line* find(std::uint64_t line, Class priority);
    // Takes the place of the victim for `line`, of which nothing is here yet; the victim as it was is in `evicted`.
    Line& take(std::uint64_t line, Class priority, Line& evicted);
    // Forgets the line, which is not dirty.
    void drop(std::uint64_t line);
    void clear();

  private:
    // Neighbours in pairs: in each half of the L2, of two neighbours one is at home.
    Line* set_of(std::uint64_t line) { return lines_.data() + line / 2 % sets_ * ways_; }
    std::uint64_t rank_now(Class priority) { return static_cast<std::uint64_t>(priority) << 62U | ++time_; }

    unsigned ways_;
    std::uint64_t sets_;
    std::vector<Line> lines_;
    std::uint64_t time_ = 0;
};

// What passed between the levels since the last reset.
struct Traffic {
    std::int64_t l2_read_sectors = 0;
    std::int64_t l2_write_sectors = 0;
    std::int64_t dram_read_bytes = 0;
    // Of dirty lines that were evicted. What is still dirty at the end of a call has not been written.
    std::int64_t dram_write_bytes = 0;

    friend bool operator==(const Traffic&, const Traffic&) = default;
};

// What a launch means to the caches.
struct LaunchShape {
    int threads = 32;  // a block
    std::int64_t shared_bytes = 0;
    // Lines of the window [first, first + bytes) are kept in the L2.
    std::uint64_t window = 0;
    std::uint64_t window_bytes = 0;
};

class CacheModel {
  public:
    CacheModel(std::int64_t l2_bytes, int multiprocessors);

    // Other data, clean, fills the L2: nothing that is accessed later is there, and what it displaces is never
    // written. That is the same as an empty L2.
    void displace();
    void start_launch(const LaunchShape& shape);
    // The half of the L2 beside the SM of this block.
    unsigned half_of(std::int64_t block) const {
        return static_cast<unsigned>(scattered(static_cast<std::uint64_t>(block) % l1_.size() + 1) >> 63U);
    }

    void load(std::int64_t block, const LinePart& part, Path path);
    void store(std::int64_t block, const LinePart& part, Path path);

    const Traffic& traffic() const { return traffic_; }
    void reset_traffic() { traffic_ = {}; }

  private:
    struct L1 {
        SectoredCache cache;
        std::int64_t launch;  // for which it was cleared
    };

    SectoredCache& l1_of(std::int64_t block);
    SectoredCache::Class l2_class(std::uint64_t line, Path path) const;
    SectoredCache::Line& l2_line(unsigned half, std::uint64_t line, Path path);
    void l2_read(std::int64_t block, std::uint64_t line, std::uint32_t sectors, Path path);

    std::array<SectoredCache, 2> l2_;
    Coalescer coalescer_;
    std::vector<L1> l1_;
    std::int64_t l1_bytes_ = 0;
    std::int64_t launch_ = 0;
    std::uint64_t window_ = 0;
    std::uint64_t window_bytes_ = 0;
    Traffic traffic_;
};

}  // namespace qkprof::emulator
