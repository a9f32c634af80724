// Turns the accesses of single lanes into those of warps. Lanes run one after another, each up to the warp's next
// collective; accesses at the same place in the source, with the same turn among the lane's own accesses there, are one
// warp instruction.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace qkprof::emulator {

enum class Access : std::uint8_t { global_load, global_store, shared_load, shared_store };

// The way of a global access through the caches. bypass: past the L1 (cp.async.cg and the bulk engine).
enum class Path : std::uint8_t { normal, streaming, keep, bypass };

// One access of up to 32 lanes.
struct WarpAccess {
    std::uint64_t place = 0;  // in the source, with kind and width
    std::uint32_t lanes = 0;  // which take part
    Access kind = Access::global_load;
    Path path = Path::normal;
    std::uint8_t bytes = 0;  // a lane
    // By lane: device address, or offset in shared memory.
    std::array<std::uint64_t, 32> address;  // NOLINT: only those of `lanes` are read
};

// The accesses of one warp since its last collective, in the order in which lanes first made them.
class WarpLog {
  public:
    void record(unsigned lane, std::uint64_t place, Access kind, Path path, unsigned bytes, std::uint64_t address) {
        // While all lanes have made the same sequence of accesses, the next one of the log is this one.
        const std::uint32_t bit = 1U << lane;
        std::size_t i = next_[lane];
        if ((strayed_ & bit) != 0 || (i < size_ && log_[i].place != place)) {
            strayed_ |= bit;
            // Turns at one place stand in the log in their order, and a lane takes them in order.
            for (i = 0; i < size_ && (log_[i].place != place || (log_[i].lanes & bit) != 0); ++i) {
            }
        }
        next_[lane] = static_cast<std::uint32_t>(i + 1);
        if (i == size_) {
            append(place, kind, path, bytes);
        }
        log_[i].lanes |= bit;
        log_[i].address[lane] = address;
    }

    // Calls take(const WarpAccess&) for each access and forgets them.
    template <class F>
    void flush(F take) {
        if (size_ == 0) {
            return;
        }
        for (std::size_t i = 0; i < size_; ++i) {
            take(static_cast<const WarpAccess&>(log_[i]));
        }
        clear();
    }
    void clear() {
        size_ = 0;
        strayed_ = 0;
        next_.fill(0);
    }

  private:
    void append(std::uint64_t place, Access kind, Path path, unsigned bytes) {
        if (size_ == log_.size()) {
            log_.emplace_back();
        }
        WarpAccess& access = log_[size_++];
        access.place = place;
        access.lanes = 0;
        access.kind = kind;
        access.path = path;
        access.bytes = static_cast<std::uint8_t>(bytes);
    }

    std::vector<WarpAccess> log_;  // the first size_ are in use
    std::size_t size_ = 0;
    std::array<std::uint32_t, 32> next_ = {};  // by lane
    std::uint32_t strayed_ = 0;                // lanes whose sequence is another than the log's
};

inline constexpr unsigned sector_bytes = 32;
inline constexpr unsigned line_bytes = 128;

// What one warp access touches of one 128-byte line.
struct LinePart {
    std::uint64_t line = 0;   // address / 128
    std::uint64_t pairs = 0;  // bit i: bytes 2i and 2i + 1

    // Bit i: sector i is touched.
    std::uint32_t sectors() const {
        std::uint32_t touched = 0;
        for (unsigned sector = 0; sector < 4; ++sector) {
            touched |= ((pairs >> (16 * sector)) & 0xffffU) != 0 ? 1U << sector : 0U;
        }
        return touched;
    }
};

// The distinct lines of a global access, in the order in which the lanes name them. Writes at most 32 and returns how
// many. Accesses are aligned to their size, so that each lies in one sector.
unsigned lines_of(const WarpAccess& access, std::array<LinePart, 32>& parts);

// The sectors that asynchronous copies of up to 32 lanes ask for: the distinct ones of each quarter-warp, not of the
// warp. The L2 is asked for those of the warp.
unsigned sectors_of_copies(const WarpAccess& access);

// How often the 32 banks must be read or written for one shared access, and how often if no two words shared a bank.
struct Wavefronts {
    unsigned needed = 0;
    unsigned ideal = 0;
};
Wavefronts wavefronts_of(const WarpAccess& access);

}  // namespace qkprof::emulator
