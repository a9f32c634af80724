#include "busy_time.h"

#include <algorithm>
#include <iterator>

namespace qkprof::exec {

std::uint64_t BusyTime::busy() const { return std::min(total_, span()); }  // late ones may be counted twice

void BusyTime::add(std::uint64_t start, std::uint64_t end, std::size_t most_kept) {
    first_start_ = any_ ? std::min(first_start_, start) : start;
    last_end_ = std::max(last_end_, end);
    any_ = true;
    if (start < forgotten_until_) {
        ++late_;
        total_ += std::min(end, forgotten_until_) - start;
        start = forgotten_until_;
        if (end <= start) {
            return;
        }
    }
    auto next = intervals_.end();
    if (!intervals_.empty() && std::prev(next)->first >= start) {
        next = intervals_.upper_bound(start);
    }
    if (next != intervals_.begin() && std::prev(next)->second >= start) {
        --next;
        if (next->second >= end) {
            return;
        }
        total_ += end - next->second;
        next->second = end;
    } else {
        total_ += end - start;
        next = intervals_.emplace_hint(next, start, end);
    }
    // What the interval now reaches into becomes a part of it.
    const auto grown = next++;
    while (next != intervals_.end() && next->first <= grown->second) {
        total_ -= std::min(next->second, grown->second) - next->first;
        grown->second = std::max(grown->second, next->second);
        next = intervals_.erase(next);
    }
    while (intervals_.size() > most_kept) {
        forgotten_until_ = intervals_.begin()->second;
        intervals_.erase(intervals_.begin());
    }
}

}  // namespace qkprof::exec
