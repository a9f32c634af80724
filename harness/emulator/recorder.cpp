#include "recorder.h"

#include <algorithm>

namespace qkprof::emulator {

unsigned lines_of(const WarpAccess& access, std::array<LinePart, 32>& parts) {
    const std::uint64_t pairs = (1ULL << (access.bytes / 2U)) - 1;
    unsigned count = 0;
    unsigned last = 0;
    for (std::uint32_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
        const std::uint64_t address = access.address[static_cast<unsigned>(std::countr_zero(lanes))];
        const std::uint64_t line = address / line_bytes;
        if (count == 0 || parts[last].line != line) {
            for (last = 0; last < count && parts[last].line != line; ++last) {
            }
            if (last == count) {
                parts[count++] = {line, 0};
            }
        }
        parts[last].pairs |= pairs << (address % line_bytes / 2);
    }
    return count;
}

unsigned sectors_of_copies(const WarpAccess& access) {
    constexpr unsigned quarter = 8;  // lanes
    std::array<LinePart, 32> parts;  // NOLINT: lines_of fills what is read
    unsigned sectors = 0;
    WarpAccess part = access;
    for (unsigned first = 0; first < 32; first += quarter) {
        part.lanes = access.lanes & (((1U << quarter) - 1) << first);
        const unsigned lines = lines_of(part, parts);
        for (unsigned i = 0; i < lines; ++i) {
            sectors += static_cast<unsigned>(std::popcount(parts[i].sectors()));
        }
    }
    return sectors;
}

namespace {

// Whether lanes 2i and 2i + 1 ask for the same, for each i of which a lane takes part.
bool in_pairs(const WarpAccess& access) {
    if ((access.lanes & 0x55555555U) != (access.lanes >> 1U & 0x55555555U)) {
        return false;
    }
    for (unsigned lane = 0; lane < 32; lane += 2) {
        if ((access.lanes >> lane & 1U) != 0 && access.address[lane] != access.address[lane + 1]) {
            return false;
        }
    }
    return true;
}

}  // namespace

Wavefronts wavefronts_of(const WarpAccess& access) {
    // The banks give 128 bytes at a time: 8-byte accesses go by half-warps, 16-byte ones by quarter-warps; loads of
    // which each two neighbouring lanes want the same go by twice as many lanes.
    const unsigned words_a_lane = std::max(1U, access.bytes / 4U);
    const bool paired = words_a_lane > 1 && access.kind == Access::shared_load && in_pairs(access);
    const unsigned lanes_a_group = 32 / words_a_lane * (paired ? 2 : 1);
    Wavefronts total;
    for (unsigned first = 0; first < 32; first += lanes_a_group) {
        std::uint32_t lanes = access.lanes >> first;
        if (lanes_a_group < 32) {
            lanes &= (1U << lanes_a_group) - 1;
        }
        if (lanes == 0) {
            continue;
        }
        std::array<std::array<std::uint64_t, 32>, 32> words;  // NOLINT: by bank, the distinct words asked of it
        std::array<unsigned, 32> counts = {};
        unsigned most = 0;
        for (; lanes != 0; lanes &= lanes - 1) {
            const std::uint64_t address = access.address[first + static_cast<unsigned>(std::countr_zero(lanes))];
            for (unsigned i = 0; i < words_a_lane; ++i) {
                const std::uint64_t word = address / 4 + i;
                std::array<std::uint64_t, 32>& of_bank = words[word % 32];
                unsigned& count = counts[word % 32];
                const auto* end = of_bank.data() + count;
                if (std::find(static_cast<const std::uint64_t*>(of_bank.data()), end, word) == end) {
                    of_bank[count++] = word;
                    most = std::max(most, count);
                }
            }
        }
        total.needed += most;
        ++total.ideal;
    }
    return total;
}

}  // namespace qkprof::emulator
