// The instances of NVTX ranges of one process. What is submitted in one counts in it and in those around it; once
// popped and old it is counted in its row (range_rows.h) and forgotten but for where it was.
#pragma once

#include "busy_time.h"
#include "range_rows.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace qkprof::exec {

class RangeInstances {
  public:
    struct Limits {
        std::size_t live = 50'000;      // not yet counted
        std::size_t counted = 400'000;  // whose place is still known, for records that come late
        std::size_t depth = 64;         // of nesting: what is deeper is a part of the last
        std::size_t intervals_of_one = 16'384;
        std::size_t intervals_of_all = 500'000;
    };
    explicit RangeInstances(const Limits& limits) : limits_(limits) {}

    // Throws InputError for a number that is there, or not above its parent's.
    void push(const Push& push, std::string_view domain, std::string_view name, RangeRows& rows, Room& room);
    struct Popped {
        std::uint64_t pushed = 0;
        std::uint32_t thread = 0;
        std::uint32_t row = RangeRows::none;
    };
    // Of one that is open; else none.
    std::optional<Popped> pop(const Pop& pop, RangeRows& rows);

    // Something that was submitted in a range: what it changes in each range that it is a part of.
    struct Part {
        std::uint64_t range = 0;
        std::uint64_t launches = 0;
        std::uint64_t transfers = 0;
        std::int64_t submissions = 0;
        std::uint32_t device = 0;
        std::uint64_t start = 0;  // 0: no time
        std::uint64_t end = 0;
        bool without_record = false;
    };
    // `in_row` is called for the row of each of these ranges.
    template <class F>
    void add(const Part& part, RangeRows& rows, F in_row);

    void count_all(RangeRows& rows);
    // Calls `found` with each that is open.
    void each_open(const std::function<void(const Popped&)>& found) const;

    std::size_t live() const { return live_.size(); }
    std::size_t remembered() const { return counted_.size(); }
    std::size_t intervals() const { return intervals_; }
    std::uint64_t too_deep() const { return too_deep_; }
    std::uint64_t forgotten() const { return forgotten_; }  // parts whose range is not known any more
    std::uint64_t late() const { return late_; }            // parts of ranges that were counted before
    std::uint64_t late_intervals() const { return late_intervals_; }

  private:
    struct Instance {
        std::uint32_t row = RangeRows::none;
        std::uint32_t thread = 0;
        std::uint64_t parent = 0;
        std::uint64_t pushed = 0;
        std::uint64_t popped = 0;  // 0: open
        std::uint32_t depth = 1;
        std::optional<std::uint32_t> place;
        RangeCall call;
        std::vector<std::pair<std::uint32_t, BusyTime>> busy;  // by GPU

        BusyTime& busy_of(std::uint32_t device);
    };
    // One that is counted, or that has no row of its own.
    struct Place {
        std::uint32_t row = RangeRows::none;
        std::uint64_t parent = 0;
    };
    void add_to(Instance& instance, const Part& part);
    void add_late(RangeRows::Row& row, const Part& part);
    void remember(std::uint64_t number, const Place& place);
    void count(std::uint64_t number, RangeRows& rows);
    void count_old(RangeRows& rows);

    Limits limits_;
    std::unordered_map<std::uint64_t, Instance> live_;
    std::deque<std::uint64_t> popped_;  // of live_, the first popped first
    std::unordered_map<std::uint64_t, Place> counted_;
    std::deque<std::uint64_t> counted_order_;
    std::size_t intervals_ = 0;
    std::uint64_t too_deep_ = 0;
    std::uint64_t forgotten_ = 0;
    std::uint64_t late_ = 0;
    std::uint64_t late_intervals_ = 0;
};

template <class F>
void RangeInstances::add(const Part& part, RangeRows& rows, F in_row) {
    if (intervals_ > limits_.intervals_of_all) {
        count_old(rows);
    }
    for (std::uint64_t number = part.range; number != 0;) {
        if (const auto found = live_.find(number); found != live_.end()) {
            RangeRows::Row& row = rows.at(found->second.row);
            add_to(found->second, part);
            row.work.submissions += static_cast<std::uint64_t>(part.submissions);
            row.without_record += part.without_record ? 1 : 0;
            in_row(row);
            number = found->second.parent;
        } else if (const auto old = counted_.find(number); old != counted_.end()) {
            if (old->second.row != RangeRows::none) {
                RangeRows::Row& row = rows.at(old->second.row);
                add_late(row, part);
                in_row(row);
            }
            number = old->second.parent;
        } else {
            forgotten_ += 1;
            return;
        }
    }
}

}  // namespace qkprof::exec
