#include "roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace qkprof {
namespace {

constexpr double sector_bytes = 32;
constexpr double wavefront_bytes = 128;

// A problem streams when its working set is so many times the L2; then what stays behind in it, written and not yet in
// the DRAM, counts for little: at twice the L2 a cold copy on an H200 seems 20 % slower for it.
constexpr double streaming_multiple = 6;
// A copy shows what the L2 can do when it fills this part of it: below, launching takes a large part of its time.
constexpr double least_resident_part = 0.2;
// A call stays in the L2 when the DRAM sees at most this part of what the SMs ask of the L2.
constexpr double most_spilt_part = 0.05;
// A copy is bound by latency when its bytes take less than this part of its time.
constexpr double least_busy_part = 0.5;

// How far a rate may lie over a copy's without being an error. On an H200, reading or writing alone is 7.5 % faster in
// the DRAM than a copy, which turns the bus round; and a copy that loops inside one kernel in the L2 is 1.5 times as
// fast as one that is launched for 16 MiB.
constexpr double dram_headroom = 1.1;
constexpr double l2_headroom = 1.6;

// The sum of two counters, times `unit`: unknown where either is, modelled where either is.
Counter sum_of(const Measurement& m, const char* first, const char* second, double unit) {
    const Counter a = counter_of(m, first);
    const Counter b = counter_of(m, second);
    if (!a.value || !b.value) {
        return a.value ? b : a;
    }
    return {.value = (*a.value + *b.value) * unit, .source = std::max(a.source, b.source), .reason = {}};
}

Counter bytes_of(const Measurement& m, Level level) {
    switch (level) {
        case Level::l1:
            return sum_of(m, "global_load_sectors", "global_store_sectors", sector_bytes);
        case Level::l2:
            return sum_of(m, "l2_read_sectors", "l2_write_sectors", sector_bytes);
        case Level::dram:
            return sum_of(m, "dram_read_bytes", "dram_write_bytes", 1);
        case Level::shared:
            break;
    }
    Counter wavefronts = counter_of(m, "shared_wavefronts");
    if (wavefronts.value) {
        *wavefronts.value *= wavefront_bytes;
    }
    return wavefronts;
}

// What a call must read once, wherever it lies.
std::int64_t bytes_to_read(const Measurement& m) {
    const std::int64_t tensor = m.problem.tensor_bytes();
    return m.family == Family::ceiling ? tensor : m.problem.compulsory_bytes() - tensor;
}

std::int64_t floor_of(const Measurement& m, Level level, std::int64_t l2_bytes) {
    const std::int64_t written = m.problem.tensor_bytes();
    const std::int64_t read = bytes_to_read(m);
    const auto not_held = [&](std::int64_t bytes) { return std::max<std::int64_t>(0, bytes - l2_bytes); };
    switch (level) {
        case Level::l1:
        case Level::l2:
            return read + written;
        case Level::dram:
            // In place the same bytes are read and written: what the L2 holds of them spares both.
            return m.state == CacheState::cold ? read + not_held(written)
                   : m.problem.in_place        ? not_held(read) + not_held(written)
                                               : not_held(read + written);
        case Level::shared:
            break;
    }
    return 0;
}

std::optional<double> number_of_fact(const DeviceInfo& device, std::string_view name) {
    for (const auto& [fact, text] : device.facts) {
        double number = 0;
        const char* end = text.data() + text.size();
        if (fact == name && std::from_chars(text.data(), end, number).ptr == end && number > 0) {
            return number;
        }
    }
    return {};
}

// Two transfers a clock.
Ceiling on_paper(const DeviceInfo& device) {
    const std::optional<double> clock_mhz = number_of_fact(device, "memory_clock_mhz");
    const std::optional<double> bus_bits = number_of_fact(device, "memory_bus_bits");
    if (!clock_mhz || !bus_bits) {
        return {.rate = {}, .source = {}, .spread = 0, .reason = "the clock and width of the memory are not known"};
    }
    return {.rate = *clock_mhz * 1e6 * 2 * *bus_bits / 8,
            .source = fmt::format("{} MHz x 2 x {} bits", *clock_mhz, *bus_bits),
            .spread = 0,
            .reason = {}};
}

bool has_time(const Measurement& m) { return m.right() && !m.seconds.empty(); }

// Whether the L2 held, before a cold call, some of what it reads.
bool held_what_it_reads(const Measurement& m) {
    const Counter read = counter_of(m, "dram_read_bytes");
    return m.right() && m.state == CacheState::cold && read.value && read.source == Source::counted &&
           *read.value < static_cast<double>(bytes_to_read(m));
}

double gigabytes(double rate) { return rate / 1e9; }

Bound unknown_bound(std::string reason) {
    return {.by = {}, .fraction = {.value = {}, .source = Source::counted, .reason = std::move(reason)}};
}

}  // namespace

Counter Traffic::ratio() const {
    if (!bytes.value) {
        return bytes;
    }
    if (floor <= 0) {
        return {.value = {}, .source = bytes.source, .reason = "the operation needs nothing of this level"};
    }
    return {.value = *bytes.value / floor, .source = bytes.source, .reason = {}};
}

Traffic traffic_of(const Measurement& measurement, Level level, std::int64_t l2_bytes) {
    return {.bytes = bytes_of(measurement, level),
            .floor = static_cast<double>(floor_of(measurement, level, l2_bytes))};
}

Roofline::Roofline(const Profile& profile)
    : l2_bytes_(profile.environment.device.l2_bytes),
      fractions_(profile.measurements),
      dram_on_paper_(on_paper(profile.environment.device)) {
    dram_.reason = fmt::format(
        "the run holds no copy, cold, counted and timed, of a problem of {} times the L2: add --shapes streaming",
        streaming_multiple);
    l2_.reason = fmt::format(
        "the run holds no copy, warm, counted and timed, that stays in the L2 and fills {:.0f} % of it: add --shapes "
        "resident",
        least_resident_part * 100);
    const auto l2_bytes = static_cast<double>(l2_bytes_);
    for (const Measurement& m : profile.measurements) {
        if (m.family != Family::ceiling || !has_time(m)) {
            continue;
        }
        const auto moved = static_cast<double>(2 * m.problem.tensor_bytes());
        const double touched = m.problem.in_place ? moved / 2 : moved;
        if (m.state == CacheState::cold && touched >= streaming_multiple * l2_bytes) {
            raise(dram_, m, Level::dram);
        }
        if (m.state == CacheState::warm && moved >= least_resident_part * l2_bytes && stays_in_l2(m)) {
            raise(l2_, m, Level::l2);
        }
    }
    for (const Measurement& m : profile.measurements) {
        if (m.family == Family::ceiling && has_time(m)) {
            const Bound bound = busiest(m);
            double& busy = busy_.try_emplace(ceiling_key(m), 0).first->second;
            busy = std::max(busy, bound.fraction.value.value_or(0));
        }
    }
}

bool Roofline::stays_in_l2(const Measurement& m) const {
    const Counter dram = traffic(m, Level::dram).bytes;
    const Counter l2 = traffic(m, Level::l2).bytes;
    return dram.value && l2.value && *dram.value <= most_spilt_part * *l2.value;
}

void Roofline::raise(Ceiling& ceiling, const Measurement& m, Level level) const {
    const Counter bytes = traffic(m, level).bytes;
    if (!bytes.value || *bytes.value <= 0) {
        return;
    }
    const double rate = *bytes.value / median(m.seconds);
    const bool impossible = level == Level::dram && dram_on_paper_.rate && rate > *dram_on_paper_.rate;
    if (!impossible && rate > ceiling.rate.value_or(0)) {
        ceiling = {.rate = rate, .source = m.name(), .spread = relative_spread(m.seconds).value_or(0), .reason = {}};
    }
}

std::optional<double> Roofline::fraction_at(const Ceiling& ceiling, Level level, const Measurement& m) const {
    const Counter bytes = traffic(m, level).bytes;
    if (!ceiling.rate || !bytes.value) {
        return {};
    }
    return *bytes.value / *ceiling.rate / median(m.seconds);
}

Bound Roofline::busiest(const Measurement& m) const {
    Bound bound;
    for (const auto& [level, ceiling] : {std::pair{Level::dram, &dram_}, std::pair{Level::l2, &l2_}}) {
        const std::optional<double> fraction = fraction_at(*ceiling, level, m);
        if (fraction && *fraction > bound.fraction.value.value_or(0)) {
            bound = {.by = name_of(level), .fraction = {.value = fraction, .source = Source::counted, .reason = {}}};
        }
    }
    return bound;
}

Bound Roofline::bound_of(const Measurement& m) const {
    if (!has_time(m)) {
        return unknown_bound(m.no_time_reason.empty() ? "it has no time" : m.no_time_reason);
    }
    for (const Level level : {Level::dram, Level::l2}) {
        if (const Counter bytes = traffic(m, level).bytes; !bytes.value) {
            return unknown_bound(bytes.reason);
        }
    }
    // The level that the data streams from must have a ceiling; the other is regarded where it has one.
    const Ceiling& decisive = m.state == CacheState::warm && stays_in_l2(m) ? l2_ : dram_;
    if (!decisive.rate) {
        return unknown_bound(decisive.reason);
    }
    const Counter of_copy = fractions_.of(m);
    const auto busy = busy_.find(ceiling_key(m));
    if (!of_copy.value || busy == busy_.end()) {
        return unknown_bound(of_copy.reason);
    }
    if (busy->second < least_busy_part) {
        return {.by = "latency", .fraction = of_copy};
    }
    return busiest(m);
}

std::vector<std::pair<std::string, Counter>> Roofline::numbers_of(const Measurement& m) const {
    std::vector<std::pair<std::string, Counter>> numbers;
    for (const auto& [level, key] :
         {std::pair{Level::l1, "l1"}, std::pair{Level::l2, "l2"}, std::pair{Level::dram, "dram"}}) {
        const Traffic traffic = this->traffic(m, level);
        numbers.emplace_back(fmt::format("{}_traffic_bytes", key), traffic.bytes);
        numbers.emplace_back(fmt::format("{}_floor_bytes", key),
                             Counter{.value = traffic.floor, .source = Source::counted, .reason = {}});
        numbers.emplace_back(fmt::format("{}_floor_ratio", key), traffic.ratio());
    }
    numbers.emplace_back("shared_traffic_bytes", traffic(m, Level::shared).bytes);
    numbers.emplace_back("bound_fraction", bound_of(m).fraction);
    return numbers;
}

std::vector<std::string> Roofline::errors_of(const Measurement& m) const {
    std::vector<std::string> sentences;
    if (held_what_it_reads(m)) {
        sentences.push_back(
            fmt::format("{}: {} bytes read from the DRAM are fewer than the {} that a cold call must read: the L2 "
                        "held some of them, and what is measured here is not cold.",
                        m.name(), *counter_of(m, "dram_read_bytes").value, bytes_to_read(m)));
    }
    if (!has_time(m)) {
        return sentences;
    }
    const double seconds = median(m.seconds);
    const Counter dram = traffic(m, Level::dram).bytes;
    const auto hold_against = [&](const Ceiling& ceiling, Level level, double headroom) {
        const std::optional<double> fraction = fraction_at(ceiling, level, m);
        const double spread = relative_spread(m.seconds).value_or(0) + ceiling.spread;
        if (fraction && *fraction > headroom + spread) {
            sentences.push_back(fmt::format(
                "{}: {:.0f} GB/s through the {} is {:.0f} % of the best that a copy reached in the same run ({}); "
                "more than {:.0f} % is not possible: one of them is measured wrongly.",
                m.name(), gigabytes(*fraction * *ceiling.rate), name_of(level), *fraction * 100, ceiling.source,
                headroom * 100));
        }
    };
    const bool impossible = dram.value && dram_on_paper_.rate && *dram.value / seconds > *dram_on_paper_.rate;
    if (impossible) {
        sentences.push_back(fmt::format(
            "{}: {:.0f} GB/s through the DRAM, by its counters and its time, is more than the {:.0f} GB/s that the "
            "memory can do ({}): one of them is measured wrongly.",
            m.name(), gigabytes(*dram.value / seconds), gigabytes(*dram_on_paper_.rate), dram_on_paper_.source));
    } else {  // one sentence a figure
        hold_against(dram_, Level::dram, dram_headroom);
    }
    hold_against(l2_, Level::l2, l2_headroom);
    return sentences;
}

}  // namespace qkprof
