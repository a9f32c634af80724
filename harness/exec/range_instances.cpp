#include "range_instances.h"

#include "error.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::exec {

BusyTime& RangeInstances::Instance::busy_of(std::uint32_t device) {
    const auto found = std::find_if(busy.begin(), busy.end(), [&](const auto& one) { return one.first == device; });
    return found != busy.end() ? found->second : busy.emplace_back(device, BusyTime()).second;
}

void RangeInstances::push(const Push& push, std::string_view domain, std::string_view name, RangeRows& rows,
                          Room& room) {
    if (push.range == 0 || push.range <= push.parent || live_.contains(push.range) || counted_.contains(push.range)) {
        throw InputError(fmt::format("a range of the number {} in that of the number {}", push.range, push.parent));
    }
    std::uint32_t outer = RangeRows::none;
    std::uint32_t depth = 1;
    std::uint64_t parent = push.parent;
    if (const auto live = live_.find(parent); live != live_.end()) {
        outer = live->second.row;
        depth = live->second.depth + 1;
    } else if (const auto old = counted_.find(parent); old != counted_.end()) {
        // Too deep, as this one then is: no one counts a range before those in it are popped.
        outer = old->second.row;
        depth = static_cast<std::uint32_t>(limits_.depth) + 1;
    } else {
        parent = 0;
    }
    const std::uint32_t row = depth > limits_.depth ? outer : rows.number_of(outer, domain, name);
    const bool crowded = live_.size() >= limits_.live && popped_.empty();
    if (depth > limits_.depth || crowded || (row == RangeRows::others && outer == RangeRows::others)) {
        ++too_deep_;
        remember(push.range, {.row = RangeRows::none, .parent = parent});
        return;
    }
    Instance& instance = live_[push.range];
    instance.row = row;
    instance.thread = push.thread;
    instance.parent = parent;
    instance.pushed = push.time;
    instance.depth = depth;
    instance.place = rows.begin_call(row, room);
    count_old(rows);
}

std::optional<RangeInstances::Popped> RangeInstances::pop(const Pop& pop, RangeRows& rows) {
    const auto found = live_.find(pop.range);
    if (found == live_.end() || found->second.popped != 0) {
        return {};
    }
    Instance& instance = found->second;
    const Popped popped = {.pushed = instance.pushed, .thread = instance.thread, .row = instance.row};
    instance.popped = std::max<std::uint64_t>({pop.time, instance.pushed, 1});
    popped_.push_back(pop.range);
    count_old(rows);
    return popped;
}

void RangeInstances::add_to(Instance& instance, const Part& part) {
    instance.call.launches += part.launches;
    instance.call.transfers += part.transfers;
    instance.call.submissions += static_cast<std::uint64_t>(part.submissions);
    if (part.start != 0) {
        BusyTime& busy = instance.busy_of(part.device);
        const std::size_t before = busy.kept();
        busy.add(part.start, part.end, limits_.intervals_of_one);
        intervals_ += busy.kept() - before;
    }
}

// How it overlaps with the others is not known any more.
void RangeInstances::add_late(RangeRows::Row& row, const Part& part) {
    row.work.submissions += static_cast<std::uint64_t>(part.submissions);
    row.without_record += part.without_record ? 1 : 0;
    if (part.launches + part.transfers > 0) {
        row.work.busy += part.end - part.start;
        row.work.span += part.end - part.start;
        ++row.late_records;
        ++late_;
    }
}

void RangeInstances::remember(std::uint64_t number, const Place& place) {
    counted_.emplace(number, place);
    counted_order_.push_back(number);
    if (counted_order_.size() > limits_.counted) {
        counted_.erase(counted_order_.front());
        counted_order_.pop_front();
    }
}

void RangeInstances::count(std::uint64_t number, RangeRows& rows) {
    Instance& instance = live_.at(number);
    RangeCall& call = instance.call;
    RangeRows::Row& row = rows.at(instance.row);
    std::uint64_t total_busy = 0;
    std::uint64_t total_span = 0;
    for (const auto& [device, busy] : instance.busy) {
        total_busy += busy.busy();
        total_span += busy.span();
        intervals_ -= busy.kept();
        late_intervals_ += busy.late();
    }
    row.work.busy += total_busy;
    row.work.span += total_span;
    call.busy_seconds = seconds_of(total_busy);
    call.span_seconds = seconds_of(total_span);
    if (instance.popped != 0) {
        call.host_seconds = seconds_of(instance.popped - instance.pushed);
    }
    rows.end_call(instance.row, instance.place, call);
    const Place place = {.row = instance.row, .parent = instance.parent};
    live_.erase(number);
    remember(number, place);
}

void RangeInstances::count_old(RangeRows& rows) {
    while (!popped_.empty() && (live_.size() > limits_.live || intervals_ > limits_.intervals_of_all)) {
        const std::uint64_t number = popped_.front();
        popped_.pop_front();
        count(number, rows);
    }
}

void RangeInstances::count_all(RangeRows& rows) {
    while (!live_.empty()) {
        count(live_.begin()->first, rows);
    }
    popped_.clear();
}

void RangeInstances::each_open(const std::function<void(const Popped&)>& found) const {
    for (const auto& [number, instance] : live_) {
        if (instance.popped == 0) {
            found({.pushed = instance.pushed, .thread = instance.thread, .row = instance.row});
        }
    }
}

}  // namespace qkprof::exec
