#include "coalescer.h"

#include <optional>

namespace qkprof::emulator {

Coalescer::Coalescer() { passed_.fill(std::vector<Passed>(slots)); }

void Coalescer::start_launch(std::int64_t resident_blocks) {
    ++launch_;
    resident_blocks_ = resident_blocks;
    owed_ = {};  // a launch's counts do not depend on those before it
}

bool Coalescer::joins(const Read& read) {
    const std::size_t slot = slot_of(read.line);
    const auto leads = [&](const Passed& passed) {
        return is_near(passed, read) && passed.block != read.block && (read.sectors & ~passed.sectors) == 0;
    };
    const Passed& same_half = passed_[read.half][slot];
    const Passed& other_half = passed_[1 - read.half][slot];
    std::optional<Kind> kind;
    if ((same_half.from_dram && leads(same_half)) || (other_half.from_dram && leads(other_half))) {
        kind = while_fetched;
    } else if (leads(same_half)) {
        kind = read.block < resident_blocks_ ? first_wave : later;
    }
    if (!kind) {
        return false;
    }
    unsigned& owed = owed_[*kind];
    owed += joining_percent[*kind];
    if (owed < 100) {
        return false;
    }
    owed -= 100;
    return true;
}

void Coalescer::passed(const Read& read, bool missed) {
    Passed& last = passed_[read.half][slot_of(read.line)];
    if (is_near(last, read)) {
        last.block = read.block;
        last.sectors |= read.sectors;
        last.from_dram |= missed;
    } else {
        last = {read.line, launch_, read.block, read.sectors, missed};
    }
}

}  // namespace qkprof::emulator
