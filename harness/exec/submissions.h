// The submissions of one process that records may still come for.
#pragma once

#include "protocol.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

namespace qkprof::exec {

class Submissions {
  public:
    struct Limits {
        std::size_t graphs = 1'000'000;  // a graph's launch has a record for each of its nodes: the last so many
        std::size_t waiting = 2'000'000;
        std::size_t recorded = 1U << 14U;  // one call may copy in several pieces, each with a record
    };
    explicit Submissions(const Limits& limits) : limits_(limits) {}

    void add(const Submission& submission);
    // The one that a record is of; null where it is not known. It counts as recorded from then on.
    const Submission* recorded(std::uint32_t correlation);
    // Removes and returns it where it is known and has no record.
    std::optional<Submission> cancel(std::uint32_t correlation);

    // Calls `lost` with each of kind kernel, copy or fill that waits for its record, in no order.
    void each_without_record(const std::function<void(const Submission&)>& lost) const;
    // Of those, how many were forgotten as there were too many.
    std::uint64_t forgotten() const { return forgotten_; }
    std::size_t kept() const { return all_.size(); }

  private:
    struct Entry {
        Submission submission;
        bool recorded = false;
    };
    bool waits(std::uint32_t correlation) const;

    Limits limits_;
    std::unordered_map<std::uint32_t, Entry> all_;
    std::deque<std::uint32_t> graphs_;
    std::deque<std::uint32_t> waiting_;   // in the order of their calls; those that have their record are in it too
    std::deque<std::uint32_t> recorded_;  // in the order of their records
    std::uint64_t forgotten_ = 0;
};

}  // namespace qkprof::exec
