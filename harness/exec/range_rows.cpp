#include "range_rows.h"

#include <algorithm>
#include <utility>

namespace qkprof::exec {
namespace {

constexpr std::size_t calls_always_kept = 16;  // of each row, whatever room there is

RangeRow finished(const RangeRows::Row& row, const KernelNames& names) {
    RangeRow range;
    range.domain = row.domain;
    range.name = row.name;
    range.calls = row.calls;
    range.open = row.open;
    range.work = row.work.work(names);
    range.first_calls = row.first_calls;
    range.least_launches = row.least_launches;
    range.most_launches = row.most_launches;
    range.without_record = row.without_record;
    range.late_records = row.late_records;
    return range;
}

bool is_idle(const RangeRows::Row& row) {
    return row.work.submissions == 0 && row.work.launches == 0 && row.work.transfers == 0;
}

}  // namespace

std::uint32_t RangeRows::number_of(std::uint32_t parent, std::string_view domain, std::string_view name) {
    if (parent == others) {
        return others;
    }
    std::string key = std::to_string(parent);
    key.append(1, '\0').append(domain).append(1, '\0').append(name);
    const auto found = numbers_.find(key);
    if (found != numbers_.end()) {
        return found->second;
    }
    if (full()) {
        return others;
    }
    const auto number = static_cast<std::uint32_t>(rows_.size());
    rows_.emplace_back();
    rows_.back().domain = domain;
    rows_.back().name = name;
    rows_.back().parent = parent;
    numbers_.emplace(std::move(key), number);
    return number;
}

std::optional<std::uint32_t> RangeRows::begin_call(std::uint32_t number, Room& room) {
    Row& row = rows_[number];
    ++row.calls;
    const std::size_t place = row.first_calls.size();
    // Once one is left out, so are all after it: those kept are the first.
    const bool follows = place + 1 == row.calls;
    if (!follows || place >= most_calls_kept || (place >= calls_always_kept && room.calls == 0)) {
        return {};
    }
    if (place >= calls_always_kept) {
        --room.calls;
    }
    row.first_calls.emplace_back();
    return static_cast<std::uint32_t>(place);
}

void RangeRows::end_call(std::uint32_t number, std::optional<std::uint32_t> place, const RangeCall& call) {
    Row& row = rows_[number];
    row.least_launches = row.ended == 0 ? call.launches : std::min(row.least_launches, call.launches);
    row.most_launches = std::max(row.most_launches, call.launches);
    ++row.ended;
    if (!call.host_seconds) {
        ++row.open;
    }
    if (place) {
        row.first_calls.at(*place) = call;
    }
}

std::size_t RangeRows::idle_together() const {
    const auto idle = [](const Row& row) { return is_idle(row); };
    return is_crowded() ? static_cast<std::size_t>(std::count_if(rows_.begin() + 1, rows_.end(), idle)) : 0;
}

std::vector<RangeRow> RangeRows::rows(const KernelNames& names) const {
    std::vector<std::vector<std::uint32_t>> children(rows_.size());
    std::vector<std::uint32_t> next;  // the first at the end
    for (auto number = static_cast<std::uint32_t>(rows_.size()); number-- > 1;) {
        (rows_[number].parent == none ? next : children[rows_[number].parent]).push_back(number);
    }
    std::vector<RangeRow> ranges;
    std::vector<std::vector<std::string>> paths(rows_.size());  // with the range itself
    const bool crowded = is_crowded();
    Row rest = rows_[others];
    while (!next.empty()) {
        const std::uint32_t number = next.back();
        next.pop_back();
        next.insert(next.end(), children[number].begin(), children[number].end());
        if (crowded && is_idle(rows_[number])) {  // then so are those in it
            rest.calls += rows_[number].calls;
            rest.open += rows_[number].open;
            rest.least_launches = 0;
            rest.first_calls.resize(std::max<std::size_t>(rest.first_calls.size(), 1));  // one that did nothing
            continue;
        }
        RangeRow range = finished(rows_[number], names);
        if (rows_[number].parent != none) {
            range.inside = paths[rows_[number].parent];
        }
        paths[number] = range.inside;
        paths[number].push_back(text_of(range));
        ranges.push_back(std::move(range));
    }
    if (rest.calls > 0) {
        ranges.push_back(finished(rest, names));
    }
    return ranges;
}

}  // namespace qkprof::exec
