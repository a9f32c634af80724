#include "profile.h"

#include "date.h"
#include "version.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

namespace qkprof {
namespace {

std::string host_name() {
    std::array<char, 256> name = {};
    return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

// The linear interpolation between the two nearest of the sorted samples.
double quantile(const std::vector<double>& sorted, double fraction) {
    const double place = fraction * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

}  // namespace

Environment environment_of(const DeviceInfo& device, std::string executable) {
    Environment environment;
    environment.date = date_now();
    environment.host_name = host_name();
    environment.executable = std::move(executable);
    environment.processors = static_cast<int>(std::thread::hardware_concurrency());
#ifdef NDEBUG
    environment.build_type = "release";
#else
    environment.build_type = "debug";
#endif
    environment.version = version();
    environment.commit = commit();
    environment.device = device;
    return environment;
}

double median(std::vector<double> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    if (samples.size() % 2 == 1) {
        return *middle;
    }
    return (*std::max_element(samples.begin(), middle) + *middle) / 2;
}

std::optional<double> relative_spread(std::vector<double> samples) {
    constexpr std::size_t least = 3;
    if (samples.size() < least) {
        return {};
    }
    std::sort(samples.begin(), samples.end());
    return (quantile(samples, 0.75) - quantile(samples, 0.25)) / 2 / quantile(samples, 0.5);
}

std::string ceiling_key(const Measurement& measurement) {
    const Problem& p = measurement.problem;
    return fmt::format("{}/{}/{}/{}", p.text('/'), name_of(p.dtype), name_of(measurement.state), measurement.timer);
}

CopyFractions::CopyFractions(const std::vector<Measurement>& measurements) {
    for (const Measurement& m : measurements) {
        if (m.family != Family::ceiling || m.seconds.empty()) {
            continue;
        }
        const double seconds = median(m.seconds);
        const auto [place, added] = ceilings_.try_emplace(ceiling_key(m), seconds);
        place->second = std::min(place->second, seconds);
    }
}

Counter CopyFractions::of(const Measurement& measurement) const {
    if (measurement.seconds.empty()) {
        return {.value = {}, .source = Source::counted, .reason = "it has no time"};
    }
    const auto ceiling = ceilings_.find(ceiling_key(measurement));
    if (ceiling == ceilings_.end()) {
        return {
            .value = {}, .source = Source::counted, .reason = "no copy of the same problem and state was timed alike"};
    }
    return {.value = ceiling->second / median(measurement.seconds), .source = Source::counted, .reason = {}};
}

std::string error_of(const Measurement& measurement) {
    const Verification& v = measurement.verification;
    if (!measurement.refused.empty()) {
        return fmt::format("refused: {}", measurement.refused);
    }
    if (!measurement.not_run.empty()) {
        return fmt::format("not run: {}", measurement.not_run);
    }
    if (!v.fault.empty()) {
        const std::size_t end = v.fault.find_last_not_of('.');
        return "fault: " + v.fault.substr(0, end == std::string::npos ? 0 : end + 1);
    }
    if (v.correct) {
        return {};
    }
    if (!v.first_wrong) {
        return fmt::format("wrong result: each element is within its bound, but the norm-relative error is {:.2g}",
                           v.error_norm);
    }
    const WrongElement& e = *v.first_wrong;
    return fmt::format("wrong result: {} of {} elements, the first at b={} s={} {} d={}: got {}, expected {}",
                       v.wrong_elements, measurement.problem.elements(), e.batch, e.position,
                       head_text(measurement.problem, e), e.column, e.got, e.expected);
}

}  // namespace qkprof
