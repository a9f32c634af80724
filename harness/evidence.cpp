#include "evidence.h"

#include "claims_subjects.h"
#include "error.h"
#include "names.h"
#include "roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace qkprof {
namespace {

// As Measurement::name() is of such a measurement.
std::string measurement_name(std::string_view subject, const Problem& problem, CacheState state) {
    const SubjectName name = split_subject(subject);
    return fmt::format("{}/{}/{}/{}{}", name.variant, problem.text('/'), name_of(problem.dtype), name_of(state),
                       name.parameters);
}

// As it is written, to begin a reason.
std::string text_of(const Term& term) {
    std::vector<std::string> words;
    if (!term.variant.empty()) {
        words.push_back(term.variant);
    }
    if (term.state) {
        words.emplace_back(name_of(*term.state));
    }
    if (term.dtype) {
        words.emplace_back(name_of(*term.dtype));
    }
    if (term.size != SizeOf::cell) {
        words.emplace_back(term.size == SizeOf::smallest ? "smallest" : "largest");
    }
    return words.empty() ? term.quantity : fmt::format("{}[{}]", term.quantity, fmt::join(words, ", "));
}

Counter exactly(double value) { return {.value = value, .source = Source::counted, .reason = {}}; }

// Of all quantities but times.
Counter count_of(const Measurement& m, const std::string& quantity, std::int64_t l2_bytes) {
    for (const Level level : {Level::l1, Level::l2, Level::dram, Level::shared}) {
        const std::string name = level == Level::l1     ? "l1"
                                 : level == Level::l2   ? "l2"
                                 : level == Level::dram ? "dram"
                                                        : "shared";
        if (quantity == name + "_traffic_bytes") {
            return traffic_of(m, level, l2_bytes).bytes;
        }
        if (quantity == name + "_floor_bytes") {
            return exactly(traffic_of(m, level, l2_bytes).floor);
        }
        if (quantity == name + "_floor_ratio") {
            return traffic_of(m, level, l2_bytes).ratio();
        }
    }
    const std::array<std::pair<const char*, double>, 5> known = {
        std::pair{"tensor_bytes", static_cast<double>(m.problem.tensor_bytes())},
        std::pair{"working_set_bytes", static_cast<double>(m.problem.working_set_bytes())},
        std::pair{"compulsory_bytes", static_cast<double>(m.problem.compulsory_bytes())},
        std::pair{"l2_bytes", static_cast<double>(l2_bytes)}, std::pair{"error_norm", m.verification.error_norm}};
    for (const auto& [name, value] : known) {
        if (quantity == name) {
            return exactly(value);
        }
    }
    return counter_of(m, quantity);
}

// Null, with the reason, where there are none.
const std::vector<double>* samples_of(const Measurement& m, const std::string& quantity, std::string& reason) {
    if (quantity == "stream_time" && m.stream_seconds.empty() && !m.seconds.empty()) {
        reason = "the profile holds no such samples";
        return nullptr;
    }
    reason = m.no_time_reason.empty() ? "it has no time" : m.no_time_reason;
    return m.seconds.empty() ? nullptr : quantity == "stream_time" ? &m.stream_seconds : &m.seconds;
}

// The numbers of the repetitions whose samples m.seconds holds: all but those that were throttled.
std::vector<std::size_t> repetitions_of(const Measurement& m) {
    std::vector<std::size_t> numbers;
    for (std::size_t number = 0, throttled = 0; numbers.size() < m.seconds.size(); ++number) {
        if (throttled < m.throttled.size() && m.throttled[throttled].repetition == number) {
            ++throttled;
        } else {
            numbers.push_back(number);
        }
    }
    return numbers;
}

// The samples that all of these took in the same repetitions.
Together together(const std::vector<std::pair<const Measurement*, const std::vector<double>*>>& things) {
    std::map<std::size_t, std::size_t> seen;  // repetitions, and in how many things
    for (const auto& [m, samples] : things) {
        for (const std::size_t number : repetitions_of(*m)) {
            ++seen[number];
        }
    }
    Together group;
    for (const auto& [m, samples] : things) {
        const std::vector<std::size_t> numbers = repetitions_of(*m);
        std::vector<double>& kept = group.by_thing.emplace_back();
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (seen[numbers[i]] == things.size()) {
                kept.push_back(samples->at(i));
            }
        }
    }
    return group;
}

auto identity_of(const DeviceInfo& d) {
    return std::tie(d.description, d.backend, d.limits.multiprocessors, d.l2_bytes);
}

}  // namespace

Evidence::Evidence(const std::vector<Profile>& profiles) {
    for (std::size_t i = 0; i < profiles.size(); ++i) {
        const DeviceInfo& device = profiles[i].environment.device;
        if (i == 0) {
            device_ = device;
        } else if (identity_of(device) != identity_of(device_)) {
            throw InputError(
                fmt::format("The profiles are of different devices ({} and {}), and a claim is judged on one: give "
                            "those of one device.",
                            device_.description, device.description));
        }
        for (const Measurement& m : profiles[i].measurements) {
            const Exhibit exhibit = {&m, i};
            exhibits_.push_back(exhibit);
            if (!by_name_.try_emplace(m.name(), exhibit).second) {
                throw InputError(
                    fmt::format("The evidence holds {} twice: give one profile of each measurement.", m.name()));
            }
        }
    }
}

bool Evidence::meets(const Where& where, const Measurement& m) const {
    const auto allows = [](const auto& list, const auto& value) {
        return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    const auto within = [&](const std::vector<BytesLimit>& limits, std::int64_t bytes) {
        return std::all_of(limits.begin(), limits.end(), [&](const BytesLimit& limit) {
            return limit.holds(static_cast<double>(bytes), static_cast<double>(device_.l2_bytes));
        });
    };
    const auto any_matches = [](const std::vector<std::string>& globs, const std::string& name) {
        return globs.empty() || std::any_of(globs.begin(), globs.end(),
                                            [&](const std::string& glob) { return matches_glob(glob, name); });
    };
    return allows(where.states, m.state) && allows(where.dtypes, m.problem.dtype) &&
           any_matches(where.shapes, m.problem.text('/')) &&
           (!where.features || *where.features == features_of(m.problem)) &&
           within(where.working_set, m.problem.working_set_bytes()) &&
           within(where.moved, m.problem.compulsory_bytes()) &&
           (where.device.empty() || matches_glob(where.device, device_.description));
}

bool Evidence::is_about(const Test& test, const Measurement& m, std::string_view parameters) const {
    return m.problem.rows() > 0 &&
           std::any_of(test.subjects.begin(), test.subjects.end(),
                       [&](const auto& subject) { return is_named(subject, m.variant, parameters); }) &&
           meets(test.where, m);
}

std::vector<std::string> Evidence::instead_of_covered(const Test& test) const {
    std::vector<std::string> clauses;
    const auto add = [&](std::string clause) {
        if (std::find(clauses.begin(), clauses.end(), clause) == clauses.end()) {
            clauses.push_back(std::move(clause));
        }
    };
    for (const Exhibit& exhibit : exhibits_) {
        const Measurement& m = *exhibit.measurement;
        if (!m.refused.empty() && is_about(test, m, parameters_text(m.non_standard))) {
            add(fmt::format("{} refused: {}", subject_of(m), m.refused));
        }
    }
    for (const Exhibit& exhibit : exhibits_) {
        const Measurement& m = *exhibit.measurement;
        const bool alone = by_name_.find(measurement_name(m.variant, m.problem, m.state)) == by_name_.end();
        if (alone && is_about(test, m, {})) {
            std::vector<std::string> values;
            for (const auto& [parameter, value] : m.non_standard) {
                values.push_back(fmt::format("{}={}", parameter, value));
            }
            add(fmt::format("{} was only measured with other parameters ({})", m.variant, fmt::join(values, ", ")));
        }
    }
    return clauses;
}

std::vector<Covered> Evidence::covered(const Test& test) const {
    std::vector<Covered> found;
    for (const Exhibit& exhibit : exhibits_) {
        const Measurement& m = *exhibit.measurement;
        if (!m.refused.empty() || !is_about(test, m, parameters_text(m.non_standard))) {
            continue;
        }
        Covered cell = {exhibit, {}};
        bool meets_all = true;
        for (const Condition& condition : test.where.when) {
            const Finding finding = find(condition.measure, exhibit, {});
            if (!finding.unknown.empty()) {
                cell.unknown = fmt::format("whether {} {}: {}", condition.measure.text(), condition.relation.text,
                                           finding.unknown);
            } else {
                meets_all = meets_all && condition.relation.holds(finding.value);
            }
        }
        if (meets_all) {
            found.push_back(std::move(cell));
        }
    }
    return found;
}

Evidence::Value Evidence::value_of(const Term& term, const Exhibit& cell, const std::vector<Covered>& covered) const {
    const Measurement& subject = *cell.measurement;
    Problem problem = subject.problem;
    if (term.size != SizeOf::cell) {
        for (const Covered& other : covered) {
            const Measurement& m = *other.exhibit.measurement;
            const bool comparable = subject_of(m) == subject_of(subject) && m.state == subject.state &&
                                    m.problem.dtype == subject.problem.dtype && other.unknown.empty() &&
                                    features_of(m.problem) == features_of(subject.problem);
            const std::int64_t further = m.problem.working_set_bytes() - problem.working_set_bytes();
            if (comparable && (term.size == SizeOf::smallest ? further < 0 : further > 0)) {
                problem = m.problem;
            }
        }
    }
    problem.dtype = term.dtype.value_or(problem.dtype);
    const std::string name = measurement_name(term.variant.empty() ? subject_of(subject) : term.variant, problem,
                                              term.state.value_or(subject.state));
    const auto unknown = [&](const std::string& reason) {
        return Value{.unknown = fmt::format("{}: {}", text_of(term), reason), .number = 0, .of = {}};
    };
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
        return unknown("it was not measured");
    }
    const Measurement& m = *found->second.measurement;
    if (!m.right()) {
        return unknown(error_of(m));
    }
    std::string reason;
    if (is_time(term.quantity)) {
        const std::vector<double>* const samples = samples_of(m, term.quantity, reason);
        return samples == nullptr ? unknown(reason) : Value{{}, median(*samples), found->second, samples};
    }
    const Counter counter = count_of(m, term.quantity, device_.l2_bytes);
    if (!counter.value) {
        return unknown(counter.reason);
    }
    if (counter.source == Source::modelled) {
        return unknown("it is modelled, not counted, and says nothing about hardware");
    }
    return {{}, *counter.value, found->second, nullptr};
}

// Times that were taken in different ways are never compared: why not, or empty.
std::string Evidence::differing_timers(const std::vector<Value>& values) {
    const Measurement* first = nullptr;
    for (const Value& value : values) {
        if (value.samples == nullptr) {
            continue;
        }
        const Measurement* const m = value.of.measurement;
        if (first != nullptr && first->timer != m->timer) {
            return fmt::format("{} was timed by {} and {} by {}, and times taken in different ways are not compared",
                               first->variant, first->timer, m->variant, m->timer);
        }
        first = m;
    }
    return {};
}

Finding Evidence::find(const Expression& expression, const Exhibit& cell, const std::vector<Covered>& covered) const {
    Finding finding;
    std::vector<double> numbers;
    // Terms that were sampled by turns: those of the same quantity on the same problem in the same run.
    using Run = std::tuple<std::size_t, std::string, std::string>;
    std::map<Run, std::vector<std::size_t>> runs;
    std::vector<Value> values;
    for (std::size_t i = 0; i < expression.terms().size(); ++i) {
        const Term& term = expression.terms()[i];
        values.push_back(value_of(term, cell, covered));
        const Value& value = values.back();
        if (!value.unknown.empty()) {
            finding.unknown = value.unknown;
            return finding;
        }
        numbers.push_back(value.number);
        if (value.samples != nullptr) {
            const Problem& problem = value.of.measurement->problem;
            runs[{value.of.profile, problem.text('/') + name_of(problem.dtype), term.quantity}].push_back(i);
        }
    }
    std::vector<std::size_t> order;  // of the terms whose medians the statistic is given
    if (finding.unknown = differing_timers(values); !finding.unknown.empty()) {
        return finding;
    }
    for (const auto& [run, terms] : runs) {
        std::vector<std::pair<const Measurement*, const std::vector<double>*>> things;
        for (const std::size_t i : terms) {
            things.emplace_back(values[i].of.measurement, values[i].samples);
            order.push_back(i);
        }
        Together group = together(things);
        const std::size_t samples = group.by_thing.front().size();
        if (samples == 0) {
            finding.unknown = "no repetition gave a sample of each: the others were throttled";
            return finding;
        }
        for (std::size_t k = 0; k < terms.size(); ++k) {
            numbers[terms[k]] = median(group.by_thing[k]);
        }
        finding.samples = finding.groups.empty() ? samples : std::min(finding.samples, samples);
        finding.groups.push_back(std::move(group));
    }
    finding.value = expression.value(numbers);
    if (!std::isfinite(finding.value)) {
        finding.unknown = fmt::format("{} divides by zero", expression.text());
        return finding;
    }
    finding.statistic = [&expression, numbers, order](std::span<const double> medians) mutable {
        for (std::size_t k = 0; k < order.size(); ++k) {
            numbers[order[k]] = medians[k];
        }
        return expression.value(numbers);
    };
    return finding;
}

}  // namespace qkprof
