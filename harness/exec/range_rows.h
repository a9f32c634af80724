// The NVTX ranges of all processes, summed up by their place in the nesting: exec_profile.h's RangeRow in the making.
#pragma once

#include "work_totals.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace qkprof::exec {

class RangeRows {
  public:
    static constexpr std::uint32_t none = 0xffffffffU;
    // The row of what has no row of its own as there are too many.
    static constexpr std::uint32_t others = 0;

    struct Row {
        std::string domain;
        std::string name;
        std::uint32_t parent = none;
        std::uint64_t calls = 0;
        std::uint64_t open = 0;
        std::uint64_t ended = 0;  // calls that are counted in what follows
        std::uint64_t least_launches = 0;
        std::uint64_t most_launches = 0;
        std::uint64_t without_record = 0;
        std::uint64_t late_records = 0;
        WorkTotals work;
        std::vector<RangeCall> first_calls;
    };

    explicit RangeRows(std::size_t most) : most_(most), rows_(1) { rows_[others].name = others_name; }

    std::uint32_t number_of(std::uint32_t parent, std::string_view domain, std::string_view name);
    Row& at(std::uint32_t number) { return rows_[number]; }
    bool full() const { return rows_.size() > most_; }
    // Some range had no row of its own, as there were too many.
    bool left_out() const { return rows_[others].calls > 0; }
    // Rows in which nothing was submitted that rows() counts with the others.
    std::size_t idle_together() const;

    // A call begins: where it is to be kept in first_calls; none where it is not.
    std::optional<std::uint32_t> begin_call(std::uint32_t number, Room& room);
    // It is counted.
    void end_call(std::uint32_t number, std::optional<std::uint32_t> place, const RangeCall& call);

    // A range behind the one that it is in, siblings in the order in which they first appeared. Of more than
    // most_idle_listed those in which nothing was submitted are counted with the others.
    std::vector<RangeRow> rows(const KernelNames& names) const;
    static constexpr std::size_t most_idle_listed = 4096;

  private:
    bool is_crowded() const { return rows_.size() > most_idle_listed; }

    std::size_t most_;
    std::vector<Row> rows_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace qkprof::exec
