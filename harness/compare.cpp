#include "compare.h"

#include "compare_times.h"
#include "names.h"
#include "parallel.h"
#include "roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace qkprof {
namespace {

// A profile, and what is asked of it again and again.
struct Side {
    Side(const char* its_name, const Profile& its_profile, Timed timed)
        : name(its_name), profile(its_profile), times(its_profile, timed), roofline(its_profile) {
        for (const Measurement& m : profile.measurements) {
            by_name.emplace(m.name(), &m);
        }
        for (const CalibrationRow& row : profile.environment.calibration.rows) {
            if (agreement_of(row) == Agreement::off) {
                misread.emplace(row.counter, fmt::format("the calibration of {} read this counter wrong ({})", name,
                                                         deviation_text(row)));
            }
        }
    }

    const Measurement* find(const std::string& measurement) const {
        const auto found = by_name.find(measurement);
        return found == by_name.end() ? nullptr : found->second;
    }
    std::string fact(std::string_view key) const {
        const auto& facts = profile.environment.device.facts;
        const auto found =
            std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == key; });
        return found == facts.end() ? std::string() : found->second;
    }

    const char* name;
    const Profile& profile;
    RunTimes times;
    Roofline roofline;
    std::map<std::string, const Measurement*, std::less<>> by_name;
    std::map<std::string, std::string, std::less<>> misread;  // why a counter is not to be believed
};

// Whether one of them, or all where there are none.
bool is_chosen(const std::vector<std::string>& globs, const std::string& name) {
    return globs.empty() ||
           std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return matches_glob(glob, name); });
}

// Why nothing can be compared between what the two devices counted; empty where it can.
std::string device_reason(const Side& base, const Side& now) {
    const Environment& a = base.profile.environment;
    const Environment& b = now.profile.environment;
    if (a.schema != b.schema) {
        return fmt::format("BASE is of schema {} and NEW of {}", a.schema, b.schema);
    }
    if (a.device.backend != b.device.backend || a.device.description != b.device.description) {
        return fmt::format("BASE is of the device {} and NEW of {}", a.device.description, b.device.description);
    }
    if (a.device.l2_bytes != b.device.l2_bytes || a.device.limits.multiprocessors != b.device.limits.multiprocessors) {
        return fmt::format("the device of BASE has {} multiprocessors and {} bytes of L2, that of NEW {} and {}",
                           a.device.limits.multiprocessors, a.device.l2_bytes, b.device.limits.multiprocessors,
                           b.device.l2_bytes);
    }
    return {};
}

std::string clock_reason(const Measurement& base, const Measurement& now) {
    constexpr double same_state = 0.01;  // two steps of the SM clock are less
    for (const auto& [counter, what] :
         {std::pair{"sm_clock_mhz", "SM clock"}, std::pair{"memory_clock_mhz", "memory clock"}}) {
        const Counter a = counter_of(base, counter);
        const Counter b = counter_of(now, counter);
        if (!a.value || !b.value) {
            return fmt::format("the {} of {} is unknown ({})", what, a.value ? "NEW" : "BASE",
                               a.value ? b.reason : a.reason);
        }
        if (std::abs(*a.value - *b.value) > same_state * *a.value) {
            return fmt::format("the {} was {:.0f} MHz in BASE and {:.0f} in NEW", what, *a.value, *b.value);
        }
    }
    return {};
}

class Comparer {
  public:
    Comparer(const Profile& base, const Profile& now, const Thresholds& thresholds, const ComparisonOptions& options)
        : thresholds_(thresholds),
          options_(options),
          timed_(options.of_ceiling ? Timed::of_ceiling : Timed::real_time),
          base_("BASE", base, timed_),
          now_("NEW", now, timed_),
          device_reason_(device_reason(base_, now_)) {}

    Comparison compare() {
        for (const Measurement& m : base_.profile.measurements) {
            if (is_chosen(options_.variants, m.variant) && m.ran()) {
                compare(m);
            }
        }
        judge_times();
        for (const Measurement& m : now_.profile.measurements) {
            const Measurement* before = base_.find(m.name());
            if (is_chosen(options_.variants, m.variant) && m.ran() && (before == nullptr || !before->ran())) {
                result_.only_in_new.push_back(m.name());
            }
        }
        // Of variants that were asked for, that they are all missing is an answer.
        const bool asked = !options_.variants.empty() && !result_.differences.empty();
        if (!asked && std::none_of(result_.differences.begin(), result_.differences.end(), [](const Difference& d) {
                return d.now != nullptr && d.now->ran() && d.standing != Standing::missing;
            })) {
            throw nothing_in_common();
        }
        add_notes();
        sort();
        return std::move(result_);
    }

  private:
    struct PendingTime {
        std::size_t index;  // in the differences
        Runs base;
        Runs now;
    };

    static Difference difference(const Measurement& base, const Measurement* now, const char* metric) {
        Difference d;
        d.base = &base;
        d.now = now;
        d.metric = metric;
        return d;
    }

    void add(Difference difference, Standing standing, std::string reason) {
        difference.standing = standing;
        difference.reason = std::move(reason);
        result_.differences.push_back(std::move(difference));
    }

    void compare(const Measurement& base) {
        const Measurement* now = now_.find(base.name());
        if (now == nullptr || !now->ran()) {
            add(difference(base, now, "result"), Standing::missing,
                now == nullptr ? absence(base) : fmt::format("in NEW {}", error_of(*now)));
            return;
        }
        if (base.problem != now->problem) {
            add(difference(base, now, "result"), Standing::not_comparable,
                "the problem is another one, by its eps, rotary base, seed or positions");
            return;
        }
        compare_results(base, *now);
        if (!base.right() || !now->right()) {
            return;
        }
        for (const std::string& metric : comparable_metrics()) {
            if (is_chosen(options_.metrics, metric)) {
                compare(base, *now, metric);
            }
        }
    }

    // Why NEW does not hold it.
    std::string absence(const Measurement& base) const {
        Measurement other = base;
        other.state = base.state == CacheState::cold ? CacheState::warm : CacheState::cold;
        return now_.find(other.name()) == nullptr ? "NEW does not hold it"
                                                  : fmt::format("NEW holds it {} alone", name_of(other.state));
    }

    // Whether NEW has a contradiction that BASE has not.
    static bool is_new_in(const Measurement& now, const Measurement& base) {
        return std::any_of(now.contradictions.begin(), now.contradictions.end(), [&](const std::string& sentence) {
            return std::find(base.contradictions.begin(), base.contradictions.end(), sentence) ==
                   base.contradictions.end();
        });
    }

    // The first contradiction, which names the measurement, as the cell does: the same of many is one reason.
    static std::string without_name(const Measurement& m) {
        const std::string& sentence = m.contradictions.front();
        const std::string name = m.name() + " ";
        return sentence.starts_with(name) ? "it " + sentence.substr(name.size()) : sentence;
    }

    void compare_results(const Measurement& base, const Measurement& now) {
        if (!now.right() || !base.right()) {
            add(difference(base, &now, "result"), now.right() ? Standing::better : Standing::worse,
                error_of(now.right() ? base : now));
        }
        const std::size_t before = base.contradictions.size();
        if (before + now.contradictions.size() > 0) {
            Difference d = difference(base, &now, "contradictions");
            d.base_value = static_cast<double>(before);
            d.now_value = static_cast<double>(now.contradictions.size());
            add(std::move(d),
                is_new_in(now, base)                 ? Standing::worse
                : now.contradictions.size() < before ? Standing::better
                                                     : Standing::same,
                without_name(now.contradictions.empty() ? base : now));
        }
    }

    void compare(const Measurement& base, const Measurement& now, const std::string& metric) {
        if (metric == "real_time" || metric == "copy_fraction") {
            if ((metric == "copy_fraction") == options_.of_ceiling) {
                compare_time(base, now, metric);
            }
            return;
        }
        const Counter a = value_of(base, metric);
        const Counter b = value_of(now, metric);
        if (!a.value) {  // BASE says nothing that NEW could be worse than
            known_in_new_alone_ += b.value ? 1 : 0;
            return;
        }
        Difference d = difference(base, &now, metric.c_str());
        d.allowance = thresholds_.of(metric, base, a.source);
        if (!d.allowance.compared) {
            return;
        }
        d.base_value = a.value;
        d.now_value = b.value;
        const Counter reference = d.allowance.relative_to.empty() ? a : value_of(base, d.allowance.relative_to);
        if (d.allowance.relative > 0 && !reference.value) {
            std::string reason = fmt::format("what is allowed is relative to {}, which is unknown in BASE: {}",
                                             d.allowance.relative_to, reference.reason);
            return add(std::move(d), Standing::not_comparable, std::move(reason));
        }
        d.allowed = std::max(d.allowance.absolute, d.allowance.relative * std::abs(reference.value.value_or(0)));
        const auto misread_in = [&](const Side& side) {
            const auto found = side.misread.find(metric);
            return found == side.misread.end() ? std::string() : found->second;
        };
        if (!b.value) {
            return add(std::move(d), Standing::missing, fmt::format("unknown in NEW: {}", b.reason));
        }
        if (a.source != b.source) {
            return add(std::move(d), Standing::not_comparable,
                       fmt::format("it is {} in BASE and {} in NEW", name_of(a.source), name_of(b.source)));
        }
        const std::string impossible = metric.starts_with("dram_") ? impossible_reason(base, now) : std::string();
        for (const std::string& reason : {device_reason_, misread_in(base_), misread_in(now_), impossible}) {
            if (!reason.empty()) {
                return add(std::move(d), Standing::not_comparable, reason);
            }
        }
        if (metric == "launches" && *b.value == 0 && *a.value > 0) {
            return add(std::move(d), Standing::not_comparable,
                       "0 in NEW, whose result is right: the records were lost");
        }
        if (*a.value != 0) {
            d.change = *b.value / *a.value - 1;
        }
        const double more = (*b.value - *a.value) * (metric == "achieved_occupancy" ? -1 : 1);
        const Standing standing = more > d.allowed    ? Standing::worse
                                  : more < -d.allowed ? Standing::better
                                                      : Standing::same;
        add(std::move(d), standing, "");
    }

    static Counter value_of(const Measurement& m, const std::string& metric) {
        const auto known = [](double value) {
            return Counter{.value = value, .source = Source::counted, .reason = {}};
        };
        return metric == "error_norm"              ? known(m.verification.error_norm)
               : metric == compulsory_bytes_metric ? known(static_cast<double>(m.problem.compulsory_bytes()))
                                                   : counter_of(m, metric);
    }

    void compare_time(const Measurement& base, const Measurement& now, const std::string& metric) {
        if (base.seconds.empty()) {
            return;
        }
        Difference d = difference(base, &now, metric.c_str());
        d.allowance = thresholds_.of(metric, base, Source::counted);
        if (!d.allowance.compared) {
            return;
        }
        if (now.seconds.empty()) {
            return add(std::move(d), Standing::missing, fmt::format("unknown in NEW: {}", now_.times.of(now).unknown));
        }
        if (std::string reason = time_reason(base, now); !reason.empty()) {
            return add(std::move(d), Standing::not_comparable, std::move(reason));
        }
        PendingTime pending = {result_.differences.size(), base_.times.of(base), now_.times.of(now)};
        for (const auto& [side, runs] : {std::pair{"BASE", &pending.base}, std::pair{"NEW", &pending.now}}) {
            if (!runs->unknown.empty()) {
                return add(std::move(d), Standing::inconclusive, fmt::format("in {} {}", side, runs->unknown));
            }
        }
        result_.differences.push_back(std::move(d));
        pending_.push_back(std::move(pending));
    }

    // Why neither the times nor the traffic of the DRAM can be compared; empty where they can.
    std::string impossible_reason(const Measurement& base, const Measurement& now) const {
        for (const auto& [side, m] : {std::pair{&base_, &base}, std::pair{&now_, &now}}) {
            if (const std::vector<std::string> errors = side->roofline.errors_of(*m); !errors.empty()) {
                return fmt::format("in {} a figure is impossible: {}", side->name, errors.front());
            }
        }
        return {};
    }

    // Why the times cannot be compared; empty where they can.
    std::string time_reason(const Measurement& base, const Measurement& now) const {
        if (base.timer != now.timer) {
            return fmt::format("its timer is {} in BASE and {} in NEW", base.timer, now.timer);
        }
        if (std::string reason = impossible_reason(base, now); !reason.empty()) {
            return reason;
        }
        if (options_.of_ceiling) {
            return base_.profile.environment.schema == now_.profile.environment.schema ? std::string() : device_reason_;
        }
        if (!device_reason_.empty()) {
            return device_reason_;
        }
        const std::string a = base_.fact("uuid");
        const std::string b = now_.fact("uuid");
        if (base_.profile.environment.device.backend == Backend::cuda && (a != b || a.empty())) {
            return a.empty() || b.empty() ? fmt::format("the UUID of {}'s GPU is unknown", a.empty() ? "BASE" : "NEW")
                                          : fmt::format(
                                                "BASE is of the GPU {} and NEW of {} (--of-ceiling compares "
                                                "each with its own copy)",
                                                a, b);
        }
        return clock_reason(base, now);
    }

    // The bootstrap takes most of the time of a comparison: each cell by itself, on all processors.
    void judge_times() {
        for_each_chunk(static_cast<std::int64_t>(pending_.size()), 1, [&](std::int64_t i, std::int64_t, std::int64_t) {
            const PendingTime& pending = pending_.at(static_cast<std::size_t>(i));
            Difference& d = result_.differences.at(pending.index);
            judge_time(d, pending.base, pending.now, timed_, base_.times.deviation(*d.base),
                       now_.times.deviation(*d.now));
        });
    }

    InputError nothing_in_common() const {
        const auto what = [&](const Side& side) {
            const auto& all = side.profile.measurements;
            return all.empty() ? std::string("nothing")
                               : fmt::format("{}{}", all.front().name(),
                                             all.size() == 1 ? "" : fmt::format(" and {} more", all.size() - 1));
        };
        return InputError(fmt::format(
            "BASE and NEW have nothing in common{} that could be compared: BASE holds {}; NEW "
            "holds {}.",
            options_.metrics.empty() && options_.variants.empty() ? "" : " of the chosen --metrics and --variants",
            what(base_), what(now_)));
    }

    void add_notes() {
        const auto differs = [&](const char* what, const std::string& a, const std::string& b) {
            if (a != b) {
                result_.notes.push_back(
                    fmt::format("BASE has the {} {} and NEW {}.", what, a.empty() ? "-" : a, b.empty() ? "-" : b));
            }
        };
        for (const Side* side : {&base_, &now_}) {
            if (!side->profile.environment.complete) {
                result_.notes.push_back(
                    fmt::format("{} was interrupted: it holds what was measured until then.", side->name));
            }
        }
        differs("commit", base_.profile.environment.commit, now_.profile.environment.commit);
        differs("driver", base_.fact("driver"), now_.fact("driver"));
        differs("CUDA runtime", base_.fact("cuda_runtime"), now_.fact("cuda_runtime"));
        const auto asked_by_name = [](const Side& side) {
            const auto& all = side.profile.measurements;
            return std::any_of(all.begin(), all.end(), [](const Measurement& m) {
                return std::any_of(m.counters.begin(), m.counters.end(),
                                   [](const auto& counter) { return !is_own_metric(counter.first); });
            });
        };
        if (known_in_new_alone_ > 0) {
            result_.notes.push_back(fmt::format("Counts that NEW alone knows, and that are held against nothing: {}.",
                                                known_in_new_alone_));
        }
        if (asked_by_name(base_) && asked_by_name(now_)) {
            result_.notes.emplace_back(
                "Counters of --metrics are not compared: which way is worse is not known of them.");
        }
    }

    void sort() {
        // How far beyond what is allowed; what has no size comes first.
        const auto excess = [](const Difference& d) {
            return d.change ? std::abs(*d.change) : d.base_value && d.base_value == d.now_value ? 0 : HUGE_VAL;
        };
        std::stable_sort(result_.differences.begin(), result_.differences.end(),
                         [&](const Difference& a, const Difference& b) {
                             return std::tuple(a.standing, -excess(a)) < std::tuple(b.standing, -excess(b));
                         });
    }

    const Thresholds& thresholds_;
    const ComparisonOptions& options_;
    Timed timed_;
    Side base_;
    Side now_;
    std::string device_reason_;
    std::vector<PendingTime> pending_;
    std::size_t known_in_new_alone_ = 0;
    Comparison result_;
};

}  // namespace

std::size_t Comparison::count(Standing standing) const {
    return static_cast<std::size_t>(std::count_if(differences.begin(), differences.end(),
                                                  [&](const Difference& d) { return d.standing == standing; }));
}

Comparison compare(const Profile& base, const Profile& now, const Thresholds& thresholds,
                   const ComparisonOptions& options) {
    return Comparer(base, now, thresholds, options).compare();
}

Exit exit_of(const Comparison& comparison, bool strict) {
    if (std::any_of(comparison.differences.begin(), comparison.differences.end(),
                    [](const Difference& d) { return d.metric == "result" && d.standing == Standing::worse; })) {
        return Exit::wrong_result;
    }
    if (comparison.count(Standing::worse) > 0) {
        return Exit::failed;
    }
    const bool open = comparison.count(Standing::missing) + comparison.count(Standing::not_comparable) +
                          comparison.count(Standing::inconclusive) >
                      0;
    return !open ? Exit::passed : strict ? Exit::failed : Exit::inconclusive;
}

}  // namespace qkprof
