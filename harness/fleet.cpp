#include "fleet.h"

#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace qkprof {
namespace {

bool is_chosen(const std::vector<std::string>& globs, const std::string& name) {
    return globs.empty() ||
           std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return matches_glob(glob, name); });
}

std::string value_named(const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view name) {
    const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
    return found == pairs.end() ? std::string() : found->second;
}

// The emulated device is another one with another L2.
std::string model_of(const DeviceInfo& device) {
    constexpr double mebibyte = 0x1p20;
    return device.backend == Backend::cuda ? device.description
                                           : fmt::format("{}, L2 of {:.4g} MiB", device.description,
                                                         static_cast<double>(device.l2_bytes) / mebibyte);
}

// The value that most have, the first of several, and how many have it.
template <class Value>
std::pair<Value, std::size_t> most_common(const std::vector<Value>& values) {
    std::map<Value, std::size_t> counts;
    for (const Value& value : values) {
        ++counts[value];
    }
    return *std::max_element(counts.begin(), counts.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
}

// "a, b, c and 5 more"
std::string shortened(std::vector<std::string> names) {
    constexpr std::size_t most = 3;
    if (names.size() > most + 1) {
        const std::size_t more = names.size() - most;
        names.resize(most);
        names.push_back(fmt::format("{} more", more));
    }
    return joined(names);
}

// A measurement as the GPUs of a model hold it: a place a GPU, null where it has no right result.
struct Row {
    std::string name;
    const Measurement* first = nullptr;
    std::vector<const Measurement*> of;
};

class ModelJudge {
  public:
    ModelJudge(std::string device, std::vector<const FleetMember*> members, const Thresholds& thresholds,
               const FleetOptions& options)
        : members_(std::move(members)), thresholds_(thresholds), options_(options), misread_(members_.size()) {
        model_.device = std::move(device);
        model_.gpus.resize(members_.size());
        for (std::size_t i = 0; i < members_.size(); ++i) {
            add_gpu(*members_[i], i);
        }
    }

    FleetModel judge() {
        for (const Row& row : rows_) {
            look_for_lacking(row);
            compare_counts(row);
        }
        if (is_chosen(options_.metrics, "real_time")) {
            compare_times();
        }
        std::set<std::string> hosts;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            decide(model_.gpus[i], members_[i]->profile.environment, misread_[i]);
            hosts.insert(model_.gpus[i].host);
        }
        model_.hosts = hosts.size();
        model_.measurements = rows_.size();
        add_notes();
        sort();
        return std::move(model_);
    }

  private:
    void add_gpu(const FleetMember& member, std::size_t place) {
        const Environment& environment = member.profile.environment;
        FleetGpu& gpu = model_.gpus[place];
        const auto shown = [](const std::string& text) { return printable(text, std::string::npos); };
        gpu.uuid = shown(value_named(environment.device.facts, "uuid"));
        gpu.host = shown(environment.host_name);
        gpu.file = shown(member.path.filename().string());
        gpu.rank = shown(value_named(environment.further, "rank"));
        for (const CalibrationRow& row : environment.calibration.rows) {
            if (agreement_of(row) == Agreement::off) {
                misread_[place].insert(row.counter);
            }
        }
        for (const Measurement& m : member.profile.measurements) {
            if (!is_chosen(options_.variants, m.variant) || !m.ran()) {
                continue;
            }
            gpu.results += is_chosen(options_.metrics, "result") ? 1 : 0;
            if (!m.right()) {  // whatever was chosen
                gpu.wrong.push_back(fmt::format("{}: {}.", m.name(), error_of(m)));
                continue;
            }
            row_of(m).of[place] = &m;
            gpu.samples += m.seconds.size() + m.throttled.size();
            gpu.throttled += m.throttled.size();
        }
    }

    // Of the same name and problem: a name says neither the seed nor the eps.
    Row& row_of(const Measurement& m) {
        std::string name = m.name();
        std::vector<std::size_t>& same_name = by_name_[name];
        const auto found = std::find_if(same_name.begin(), same_name.end(),
                                        [&](std::size_t row) { return rows_[row].first->problem == m.problem; });
        if (found != same_name.end()) {
            return rows_[*found];
        }
        same_name.push_back(rows_.size());
        rows_.push_back({std::move(name), &m, std::vector<const Measurement*>(members_.size(), nullptr)});
        return rows_.back();
    }

    void look_for_lacking(const Row& row) {
        const auto holding = static_cast<std::size_t>(
            std::count_if(row.of.begin(), row.of.end(), [](const Measurement* m) { return m != nullptr; }));
        for (std::size_t i = 0; 2 * holding > row.of.size() && i < row.of.size(); ++i) {
            model_.gpus[i].lacking_measurements += row.of[i] == nullptr ? 1 : 0;
        }
    }

    void compare_counts(const Row& row) {
        std::set<std::string> metrics = {"error_norm"};
        for (const Measurement* m : row.of) {
            for (const auto& [name, counter] : m == nullptr ? Counters() : m->counters) {
                metrics.insert(name);
            }
        }
        for (const std::string& metric : metrics) {
            if (is_chosen(options_.metrics, metric)) {
                compare_count(row, metric);
            }
        }
    }

    std::optional<double> value_of(const Row& row, const std::string& metric, std::size_t gpu) const {
        const Measurement* m = row.of[gpu];
        if (m == nullptr || misread_[gpu].contains(metric)) {
            return {};
        }
        return metric == "error_norm" ? std::optional(m->verification.error_norm) : counter_of(*m, metric).value;
    }

    // Over the GPUs; none where none has it.
    std::optional<double> middle_of(const Row& row, const std::string& metric) const {
        if (metric == compulsory_bytes_metric) {
            return static_cast<double>(row.first->problem.compulsory_bytes());
        }
        std::vector<double> values;
        for (std::size_t i = 0; i < row.of.size(); ++i) {
            if (const std::optional<double> value = value_of(row, metric, i)) {
                values.push_back(*value);
            }
        }
        return values.empty() ? std::nullopt : std::optional(median(std::move(values)));
    }

    void compare_count(const Row& row, const std::string& metric) {
        std::vector<std::size_t> having;
        std::vector<double> values;
        std::size_t holding = 0;
        for (std::size_t i = 0; i < row.of.size(); ++i) {
            holding += row.of[i] == nullptr ? 0 : 1;
            const std::optional<double> value = value_of(row, metric, i);
            if (value && std::isfinite(*value)) {
                having.push_back(i);
                values.push_back(*value);
            }
        }
        if (values.empty()) {
            return;
        }
        const Allowance allowance =
            thresholds_.of(metric, *row.first, counter_of(*row.of[having.front()], metric).source);
        add_spread(metric, row.name, values, allowance.compared);
        const std::optional<double> reference =
            allowance.relative_to.empty() ? std::nullopt : middle_of(row, allowance.relative_to);
        if (!allowance.compared || values.size() < 2 || (!allowance.relative_to.empty() && !reference)) {
            return;
        }
        for (std::size_t i = 0; 2 * having.size() > holding && i < row.of.size(); ++i) {
            const bool lacks = row.of[i] != nullptr && !std::binary_search(having.begin(), having.end(), i);
            model_.gpus[i].lacking_counts += lacks ? 1 : 0;
        }
        // A value that somebody has, so not the mean of the middle two.
        std::vector<double> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        const double usual = allowance.exact() ? most_common(values).first : sorted[(sorted.size() - 1) / 2];
        const double allowed = std::max(allowance.absolute, allowance.relative * std::abs(reference.value_or(usual)));
        const auto differs = [&](double value) { return std::abs(value - usual) > allowed; };
        const auto alike =
            values.size() - static_cast<std::size_t>(std::count_if(values.begin(), values.end(), differs));
        for (std::size_t i = 0; i < values.size(); ++i) {
            FleetGpu& gpu = model_.gpus[having[i]];
            ++gpu.counts;
            if (differs(values[i])) {
                gpu.differences.push_back({.measurement = row.name,
                                           .metric = metric,
                                           .value = values[i],
                                           .usual = usual,
                                           .alike = alike,
                                           .gpus = values.size(),
                                           .allowed = allowed});
            }
        }
    }

    void add_spread(const std::string& metric, const std::string& measurement, std::vector<double> values,
                    bool judged) {
        const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
        Spread spread = {.metric = metric,
                         .measurement = measurement,
                         .gpus = values.size(),
                         .least = *least,
                         .median = median(values),
                         .greatest = *greatest,
                         .spread = relative_spread(values),
                         .judged = judged};
        if (spread.spread && !std::isfinite(*spread.spread)) {
            spread.spread.reset();  // of a median that is 0
        }
        model_.spreads.push_back(std::move(spread));
    }

    void compare_times() {
        std::vector<RunTimes> times;
        for (const FleetMember* member : members_) {
            times.emplace_back(member->profile, Timed::real_time);
        }
        std::vector<TimedTogether> together;
        for (const Row& row : rows_) {
            const Allowance allowance = thresholds_.of("real_time", *row.first, Source::counted);
            std::vector<double> medians;
            std::vector<std::string> timers;
            for (const Measurement* m : row.of) {
                if (m != nullptr && !m->seconds.empty()) {
                    medians.push_back(median(m->seconds));
                    timers.push_back(m->timer);
                }
            }
            if (!medians.empty()) {
                add_spread("real_time", row.name, medians, allowance.compared);
            }
            if (allowance.compared) {
                const std::string timer = timers.empty() ? std::string() : most_common(timers).first;
                together.push_back(timed_together(row, times, timer, allowance));
            }
        }
        std::vector<TimeVerdict> verdicts = judge_times(together, members_.size());
        for (std::size_t i = 0; i < verdicts.size(); ++i) {
            model_.timed = std::max(model_.timed, verdicts[i].judged);
            model_.gpus[i].time = std::move(verdicts[i]);
        }
    }

    TimedTogether timed_together(const Row& row, const std::vector<RunTimes>& times, const std::string& timer,
                                 const Allowance& allowance) {
        TimedTogether one = {
            .name = row.name, .allowance = allowance, .of = std::vector<Runs>(row.of.size()), .deviation = {}};
        std::vector<RunTimes::Deviation> found;
        for (std::size_t i = 0; i < row.of.size(); ++i) {
            const Measurement* m = row.of[i];
            if (m == nullptr) {
                continue;
            }
            if (m->seconds.empty() || m->timer == timer) {
                one.of[i] = times[i].of(*m);
            } else {
                one.of[i].unknown = fmt::format("its timer is {}, and that of most others {}", m->timer, timer);
            }
            if (model_.gpus[i].reason.empty()) {
                model_.gpus[i].reason = one.of[i].unknown;  // in case that nothing of it can be judged
            }
            if (const auto deviation = times[i].deviation(*m)) {
                found.push_back(*deviation);
            }
        }
        if (!found.empty()) {
            const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
            std::nth_element(found.begin(), middle, found.end(),
                             [](const auto& a, const auto& b) { return a.value < b.value; });
            one.deviation = *middle;
            model_.noise_measured = true;
        }
        return one;
    }

    void decide(FleetGpu& gpu, const Environment& environment,
                const std::set<std::string, std::less<>>& misread) const {
        const bool is_timed = environment.device.has_clock && is_chosen(options_.metrics, "real_time");
        const std::string no_time = gpu.reason;
        gpu.reason.clear();
        if (members_.size() == 1) {
            gpu.reason = "it is the only one of its model";
        } else if (!gpu.time.doubt.empty()) {
            gpu.reason = gpu.time.doubt;
        } else if (is_timed && gpu.time.judged == 0) {
            gpu.reason = fmt::format("none of its times can be judged{}", no_time.empty() ? "" : ": " + no_time);
        } else if (gpu.lacking_measurements > 0) {
            gpu.reason = fmt::format("{} of the measurements that most others hold are not in its profile{}",
                                     gpu.lacking_measurements, environment.complete ? "" : ", which was interrupted");
        } else if (gpu.lacking_counts > 0) {
            const std::vector<std::string> names(misread.begin(), misread.end());
            gpu.reason =
                fmt::format("{} of the counts that most others have are unknown of it{}", gpu.lacking_counts,
                            names.empty() ? "" : fmt::format(", as its calibration read {} wrong", joined(names)));
        }
        gpu.standing = !gpu.wrong.empty()         ? GpuStanding::wrong
                       : gpu.time.is_slower       ? GpuStanding::slower
                       : !gpu.differences.empty() ? GpuStanding::differs
                       : !gpu.reason.empty()      ? GpuStanding::inconclusive
                                                  : GpuStanding::ordinary;
    }

    // What else the GPUs differ in, and may explain the rest.
    void add_notes() {
        const auto note = [&](const std::string& what, const auto& value_of_member) {
            std::vector<std::string> values;
            std::transform(members_.begin(), members_.end(), std::back_inserter(values),
                           [&](const FleetMember* member) { return value_of_member(member->profile.environment); });
            const std::string usual = most_common(values).first;
            std::map<std::string, std::vector<std::string>> files;  // by value
            for (std::size_t i = 0; i < values.size(); ++i) {
                files[values[i]].push_back(model_.gpus[i].file);
            }
            if (files.size() < 2) {
                return;
            }
            std::string text =
                fmt::format("{}: {} on {} of {}", what, usual.empty() ? "unknown" : usual, files.at(usual).size(),  //
                            values.size());
            files.erase(usual);
            for (auto& [value, names] : files) {
                text += fmt::format(", {} on {}", value.empty() ? "unknown" : value, shortened(std::move(names)));
            }
            model_.notes.push_back(text + ".");
        };
        note("qkprof's commit", [](const Environment& e) { return e.commit; });
        std::set<std::string> facts;
        for (const FleetMember* member : members_) {
            for (const auto& [name, value] : member->profile.environment.device.facts) {
                facts.insert(name);
            }
        }
        facts.erase("uuid");
        for (const std::string& fact : facts) {
            note(fact, [&](const Environment& e) { return value_named(e.device.facts, fact); });
        }
    }

    void sort() {
        const auto slowness = [](const FleetGpu& gpu) { return gpu.time.overall ? gpu.time.overall->change : -1; };
        std::stable_sort(model_.gpus.begin(), model_.gpus.end(), [&](const FleetGpu& a, const FleetGpu& b) {
            return std::tuple(a.standing, -slowness(a), b.differences.size()) <
                   std::tuple(b.standing, -slowness(b), a.differences.size());
        });
        std::stable_sort(model_.spreads.begin(), model_.spreads.end(), [&](const Spread& a, const Spread& b) {
            return std::tuple(a.metric != "real_time", a.metric, -a.range()) <
                   std::tuple(b.metric != "real_time", b.metric, -b.range());
        });
    }

    std::vector<const FleetMember*> members_;
    const Thresholds& thresholds_;
    const FleetOptions& options_;
    std::vector<std::set<std::string, std::less<>>> misread_;  // by GPU, counters that its calibration read wrong
    std::vector<Row> rows_;
    std::map<std::string, std::vector<std::size_t>, std::less<>> by_name_;
    FleetModel model_;
};

// Two files of one GPU would count it twice, and neither is known to be the right one: of two runs, or of two ranks
// that were given the same GPU.
void refuse_twins(const std::vector<FleetMember>& members) {
    std::map<std::string, const FleetMember*> seen;
    for (const FleetMember& member : members) {
        const std::string uuid = value_named(member.profile.environment.device.facts, "uuid");
        const auto [known, added] = seen.try_emplace(uuid, &member);
        if (!added && !uuid.empty()) {
            throw InputError(
                fmt::format("{} ({}) and {} ({}) are of the same GPU, {}: a fleet holds each GPU once, so leave one in "
                            "the folder.",
                            known->second->path.string(), known->second->profile.environment.date, member.path.string(),
                            member.profile.environment.date, uuid));
        }
    }
}

}  // namespace

std::string FleetGpu::name() const {
    return uuid.empty() ? fmt::format("{} ({})", file, host) : fmt::format("{} on {} ({})", uuid, host, file);
}

double Spread::range() const { return median == 0 ? (greatest > least ? HUGE_VAL : 0) : (greatest - least) / median; }

std::size_t Fleet::count(GpuStanding standing) const {
    std::size_t count = 0;
    for (const FleetModel& model : models) {
        count += static_cast<std::size_t>(std::count_if(model.gpus.begin(), model.gpus.end(),
                                                        [&](const FleetGpu& gpu) { return gpu.standing == standing; }));
    }
    return count;
}

Fleet lay_side_by_side(const std::vector<FleetMember>& members, const Thresholds& thresholds,
                       const FleetOptions& options) {
    if (members.size() < 2) {
        throw InputError(members.empty() ? "There is no profile: a fleet is two GPUs or more."
                                         : fmt::format("{} is the only profile there: a fleet is two GPUs or more.",
                                                       members.front().path.string()));
    }
    refuse_twins(members);
    std::map<std::string, std::vector<const FleetMember*>> by_model;
    for (const FleetMember& member : members) {
        by_model[model_of(member.profile.environment.device)].push_back(&member);
    }
    Fleet fleet;
    for (const auto& [device, of_model] : by_model) {
        fleet.models.push_back(ModelJudge(device, of_model, thresholds, options).judge());
    }
    const bool nothing = std::all_of(fleet.models.begin(), fleet.models.end(), [&](const FleetModel& model) {
        return model.measurements == 0 || (model.spreads.empty() && !is_chosen(options.metrics, "real_time") &&
                                           !is_chosen(options.metrics, "result"));
    });
    if (nothing && fleet.count(GpuStanding::wrong) == 0) {
        throw InputError(fmt::format(
            "The profiles hold nothing{} that could be laid side by side.",
            options.metrics.empty() && options.variants.empty() ? "" : " of the chosen --metrics and --variants"));
    }
    std::stable_sort(fleet.models.begin(), fleet.models.end(), [](const FleetModel& a, const FleetModel& b) {
        return a.gpus.front().standing < b.gpus.front().standing;
    });
    return fleet;
}

Exit exit_of(const Fleet& fleet, bool strict) {
    if (fleet.count(GpuStanding::wrong) > 0) {
        return Exit::wrong_result;
    }
    if (fleet.count(GpuStanding::slower) + fleet.count(GpuStanding::differs) > 0) {
        return Exit::failed;
    }
    const bool judged = std::any_of(fleet.models.begin(), fleet.models.end(), [](const FleetModel& model) {
        return std::any_of(model.gpus.begin(), model.gpus.end(),
                           [](const FleetGpu& gpu) { return gpu.time.judged + gpu.counts + gpu.results > 0; });
    });
    const bool open = !judged || fleet.count(GpuStanding::inconclusive) > 0;
    return !open ? Exit::passed : strict ? Exit::failed : Exit::inconclusive;
}

}  // namespace qkprof
