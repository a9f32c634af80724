#include "cache.h"

#include <algorithm>
#include <bit>

namespace qkprof::emulator {
namespace {

constexpr unsigned l1_ways = 16;
constexpr unsigned l2_ways = 16;
constexpr std::int64_t l1_and_shared_bytes = 256 << 10;  // of an SM
constexpr std::int64_t shared_bytes_of_sm = 228 << 10;
constexpr std::int64_t shared_bytes_of_system = 1 << 10;  // a block
constexpr std::int64_t threads_of_sm = 2048;
constexpr std::int64_t blocks_of_sm = 32;
constexpr std::uint64_t whole_sector = 0xffff;  // of LinePart::pairs

std::uint64_t pairs_of(std::uint32_t sectors) {
    std::uint64_t pairs = 0;
    for (unsigned sector = 0; sector < 4; ++sector) {
        pairs |= (sectors >> sector & 1U) != 0 ? whole_sector << (16 * sector) : 0;
    }
    return pairs;
}

// The sectors that are here to the last byte.
std::uint32_t whole_sectors(std::uint64_t pairs) {
    std::uint32_t sectors = 0;
    for (unsigned sector = 0; sector < 4; ++sector) {
        sectors |= (pairs >> (16 * sector) & whole_sector) == whole_sector ? 1U << sector : 0U;
    }
    return sectors;
}

// The half of the L2 in which a line is at home: of two neighbours, one in each.
unsigned home_of(std::uint64_t line) { return static_cast<unsigned>(std::popcount(line)) % 2; }

// How many of a launch's blocks run on an SM at once, as far as the emulated device knows: it has no registers.
std::int64_t blocks_at_once(const LaunchShape& shape) {
    return std::clamp<std::int64_t>(shared_bytes_of_sm / (shape.shared_bytes + shared_bytes_of_system), 1,
                                    std::min(blocks_of_sm, threads_of_sm / shape.threads));
}

}  // namespace

SectoredCache::SectoredCache(std::int64_t bytes, unsigned ways)
    : ways_(ways),
      sets_(static_cast<std::uint64_t>(std::max<std::int64_t>(1, bytes / line_bytes / ways))),
      lines_(sets_ * ways) {}

SectoredCache::Line* SectoredCache::find(std::uint64_t line, Class priority) {
    Line* set = set_of(line);
    for (unsigned way = 0; way < ways_; ++way) {
        if (set[way].tag == line + 1) {
            set[way].rank = rank_now(priority);
            return &set[way];
        }
    }
    return nullptr;
}

SectoredCache::Line& SectoredCache::take(std::uint64_t line, Class priority, Line& evicted) {
    Line* set = set_of(line);
    Line* victim = std::min_element(set, set + ways_, [](const Line& a, const Line& b) { return a.rank < b.rank; });
    evicted = *victim;
    *victim = {line + 1, rank_now(priority), 0, 0};
    return *victim;
}

void SectoredCache::drop(std::uint64_t line) {
    Line* set = set_of(line);
    for (unsigned way = 0; way < ways_; ++way) {
        if (set[way].tag == line + 1) {
            set[way] = {};
        }
    }
}

void SectoredCache::clear() { std::fill(lines_.begin(), lines_.end(), Line{}); }

CacheModel::CacheModel(std::int64_t l2_bytes, int multiprocessors)
    : l2_{SectoredCache(l2_bytes / 2, l2_ways), SectoredCache(l2_bytes / 2, l2_ways)} {
    l1_.assign(static_cast<std::size_t>(multiprocessors), L1{SectoredCache(0, 1), -1});
}

void CacheModel::displace() {
    for (SectoredCache& half : l2_) {
        half.clear();
    }
}

void CacheModel::start_launch(const LaunchShape& shape) {
    const std::int64_t blocks = blocks_at_once(shape);
    const std::int64_t shared = shape.shared_bytes == 0 ? 0 : blocks * (shape.shared_bytes + shared_bytes_of_system);
    if (l1_and_shared_bytes - shared != l1_bytes_) {
        l1_bytes_ = l1_and_shared_bytes - shared;
        l1_.assign(l1_.size(), L1{SectoredCache(0, 1), -1});
    }
    ++launch_;
    coalescer_.start_launch(blocks * static_cast<std::int64_t>(l1_.size()));
    window_ = shape.window;
    window_bytes_ = shape.window_bytes;
}

SectoredCache& CacheModel::l1_of(std::int64_t block) {
    L1& l1 = l1_[static_cast<std::size_t>(block) % l1_.size()];
    if (l1.launch != launch_) {
        if (l1.launch < 0) {
            l1.cache = SectoredCache(l1_bytes_, l1_ways);
        } else {
            l1.cache.clear();
        }
        l1.launch = launch_;
    }
    return l1.cache;
}

SectoredCache::Class CacheModel::l2_class(std::uint64_t line, Path path) const {
    if (line * line_bytes - window_ < window_bytes_) {
        return SectoredCache::Class::keep;
    }
    return path == Path::streaming ? SectoredCache::Class::evict_first : SectoredCache::Class::normal;
}

SectoredCache::Line& CacheModel::l2_line(unsigned half, std::uint64_t line, Path path) {
    const SectoredCache::Class priority = l2_class(line, path);
    if (SectoredCache::Line* here = l2_[half].find(line, priority)) {
        return *here;
    }
    SectoredCache::Line evicted;
    SectoredCache::Line& taken = l2_[half].take(line, priority, evicted);
    // Written sectors go to DRAM, those of which a part is missing after the rest is read.
    traffic_.dram_write_bytes += std::int64_t{sector_bytes} * std::popcount(evicted.dirty);
    traffic_.dram_read_bytes +=
        std::int64_t{sector_bytes} * std::popcount(evicted.dirty & ~whole_sectors(evicted.pairs));
    return taken;
}

void CacheModel::l2_read(std::int64_t block, std::uint64_t line, std::uint32_t sectors, Path path) {
    const Coalescer::Read read = {block, half_of(block), line, sectors};
    if (coalescer_.joins(read)) {
        return;
    }
    traffic_.l2_read_sectors += std::popcount(sectors);
    const unsigned home = home_of(line);
    // The home is asked in any case, for whether the line has been written since it was copied.
    SectoredCache::Line& here = l2_line(home, line, path);
    const std::uint32_t missing = sectors & ~whole_sectors(here.pairs);
    traffic_.dram_read_bytes += std::int64_t{sector_bytes} * std::popcount(missing);
    here.pairs |= pairs_of(missing);
    if (read.half != home && path != Path::streaming) {
        l2_line(read.half, line, path);  // takes room: that is all it is there for
    }
    coalescer_.passed(read, missing != 0);
}

void CacheModel::load(std::int64_t block, const LinePart& part, Path path) {
    std::uint32_t sectors = part.sectors();
    if (path == Path::normal || path == Path::keep) {
        SectoredCache& l1 = l1_of(block);
        const auto priority = path == Path::keep ? SectoredCache::Class::keep : SectoredCache::Class::normal;
        SectoredCache::Line* here = l1.find(part.line, priority);
        if (here == nullptr) {
            SectoredCache::Line evicted;  // the L1 writes through: nothing is lost
            here = &l1.take(part.line, priority, evicted);
        }
        const std::uint32_t missing = sectors & ~whole_sectors(here->pairs);
        here->pairs |= pairs_of(missing);
        sectors = missing;
    } else if (path == Path::streaming) {  // a hit in the L1 is one, a miss leaves nothing there
        if (const SectoredCache::Line* here = l1_of(block).find(part.line, SectoredCache::Class::normal)) {
            sectors &= ~whole_sectors(here->pairs);
        }
    }
    if (sectors != 0) {
        l2_read(block, part.line, sectors, path);
    }
}

void CacheModel::store(std::int64_t, const LinePart& part, Path path) {
    // What the L1 holds of it is updated there, which changes no count.
    const std::uint32_t sectors = part.sectors();
    traffic_.l2_write_sectors += std::popcount(sectors);
    const unsigned home = home_of(part.line);
    l2_[1 - home].drop(part.line);
    SectoredCache::Line& here = l2_line(home, part.line, path);
    here.pairs |= part.pairs;
    here.dirty |= sectors;
}

}  // namespace qkprof::emulator
