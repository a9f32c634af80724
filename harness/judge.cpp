#include "judge.h"

#include "claims_subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace qkprof {
namespace {

// Of a relation, that of so many bootstrap values.
struct PValues {
    double of_inside = 1;   // of "the truth is inside"
    double of_outside = 1;  // of "the truth is outside"
};

// One-sided, at each end that the relation has. "Outside" is given up when both ends are cleared; "inside" when one end
// is overstepped. Values + 1 over resamples + 1: what was drawn is one more.
PValues p_values(const Relation& relation, const std::vector<double>& values, std::size_t samples) {
    double below = 0;
    double above = 0;
    for (const double value : values) {
        const bool inside = relation.holds(value);
        below += !inside && value <= relation.allowed.low ? 1 : 0;
        above += !inside && value >= relation.allowed.high ? 1 : 0;
    }
    const auto all = static_cast<double>(values.size());
    const auto p = [&](double count) { return std::max((count + 1) / (all + 1), least_error(samples)); };
    return {.of_inside = std::min(p(all - below), p(all - above)), .of_outside = std::max(p(below), p(above))};
}

// How many samples more would bring the interval, which now has `in_each_tail` outside, off the limits: its width goes
// with the root of their number.
std::optional<double> further_samples(const Relation& relation, const CellResult& cell, const Interval& interval,
                                      double in_each_tail) {
    double shrink = 1;
    const auto clear = [&](double limit) {
        if (std::isfinite(limit)) {
            const double reach = limit > *cell.value ? interval.high - *cell.value : *cell.value - interval.low;
            shrink = std::max(shrink, reach / std::abs(limit - *cell.value));
        }
    };
    if (relation.holds(*cell.value)) {
        clear(relation.allowed.low);
        clear(relation.allowed.high);
    } else {
        clear(*cell.value <= relation.allowed.low ? relation.allowed.low : relation.allowed.high);
    }
    const auto samples = static_cast<double>(cell.samples);
    const double needed =
        std::max(std::ceil(samples * shrink * shrink), static_cast<double>(least_samples(in_each_tail)));
    return std::isfinite(needed) ? std::optional(std::max(1.0, needed - samples)) : std::nullopt;
}

// A timed cell that is still to be judged.
struct Pending {
    CellResult* cell;
    Finding finding;
};

void judge_times(const Test& test, std::vector<Pending>& pending) {
    const auto m = static_cast<double>(pending.size());
    // No resample on the other side among so many is a p-value below the smallest level that Holm may ask for.
    constexpr std::size_t least_resamples = 10000;
    const std::size_t resamples = std::max(least_resamples, static_cast<std::size_t>(std::ceil(m / tail)));
    const double hardest = tail / m;
    std::vector<double> of_inside;
    std::vector<double> of_outside;
    std::vector<Interval> widest;
    for (const auto& [cell, finding] : pending) {
        const std::vector<double> values = bootstrap(finding.groups, finding.statistic, resamples);
        PValues p;
        if (values.size() == resamples) {
            p = p_values(test.relation, values, cell->samples);
            cell->interval = interval_of(values, tail);
        }
        of_inside.push_back(p.of_inside);
        of_outside.push_back(p.of_outside);
        widest.push_back(cell->interval ? interval_of(values, hardest) : Interval());
    }
    // Of the two hypotheses about a cell one is true, so that either family has true ones even where the other has
    // been decided rightly: each is corrected by itself and has half of the 1 %.
    const std::vector<bool> outside = holm(of_inside, tail);
    const std::vector<bool> inside = holm(of_outside, tail);
    for (std::size_t i = 0; i < pending.size(); ++i) {
        CellResult& cell = *pending[i].cell;
        if (inside[i] || outside[i]) {
            cell.outcome = inside[i] != test.negated ? Outcome::holds : Outcome::fails;
        } else if (!cell.interval) {
            cell.reason = fmt::format("{} is no number in some resamples", test.measure.text());
        } else {
            const bool one_sided = test.relation.holds(cell.interval->low) == test.relation.holds(cell.interval->high);
            cell.reason = one_sided ? fmt::format("decided alone, but not as one of {} cells", pending.size())
                                    : std::string("the interval reaches over the limit");
            cell.further = further_samples(test.relation, cell, widest[i], hardest);
        }
    }
}

TestResult judge_cells(const Test& test, const Evidence& evidence) {
    TestResult result = {.test = &test};
    const std::vector<Covered> covered = evidence.covered(test);
    result.cells.resize(covered.size());
    std::vector<Pending> pending;
    for (std::size_t i = 0; i < covered.size(); ++i) {
        CellResult& cell = result.cells[i];
        cell.exhibit = covered[i].exhibit;
        cell.reason = covered[i].unknown;
        if (!cell.reason.empty()) {
            continue;
        }
        Finding finding = evidence.find(test.measure, cell.exhibit, covered);
        cell.reason = finding.unknown;
        if (!cell.reason.empty()) {
            continue;
        }
        cell.value = finding.value;
        cell.samples = finding.samples;
        if (test.measure.timed() && cell.samples < fewest_samples) {
            cell.reason =
                fmt::format("too few samples ({}): from {} on the interval is right", cell.samples, fewest_samples);
            cell.further = static_cast<double>(fewest_samples - cell.samples);
        } else if (test.measure.timed()) {
            pending.push_back({&cell, std::move(finding)});
        } else {
            cell.outcome = test.relation.holds(*cell.value) != test.negated ? Outcome::holds : Outcome::fails;
        }
    }
    if (!pending.empty()) {
        judge_times(test, pending);
    }
    return result;
}

double size_of(const CellResult& cell) {
    return static_cast<double>(cell.exhibit.measurement->problem.working_set_bytes());
}

// Where the straight line between both, in logarithms, meets the limit that the second one oversteps.
std::optional<double> crossing_of(const Relation& relation, const CellResult& inside, const CellResult& outside) {
    const double limit = *outside.value <= relation.allowed.low ? relation.allowed.low : relation.allowed.high;
    if (*inside.value <= 0 || *outside.value <= 0 || limit <= 0 || *inside.value == *outside.value) {
        return {};
    }
    const double part = std::log(limit / *inside.value) / std::log(*outside.value / *inside.value);
    return size_of(inside) * std::pow(size_of(outside) / size_of(inside), part);
}

// `cells` of one series, by size.
SeriesResult judge_series(const Relation& relation, const std::vector<const CellResult*>& cells) {
    SeriesResult series = {.of = cells.front()->exhibit.measurement};
    const auto is = [](Outcome outcome) { return [outcome](const CellResult* c) { return c->outcome == outcome; }; };
    const auto first_fail = std::find_if(cells.begin(), cells.end(), is(Outcome::fails));
    const auto after_last_hold = std::find_if(cells.rbegin(), cells.rend(), is(Outcome::holds)).base();
    if (after_last_hold != cells.begin()) {
        series.holds_up_to = size_of(**(after_last_hold - 1));
    }
    if (first_fail != cells.end()) {
        series.fails_from = size_of(**first_fail);
    }
    const auto undecided = std::find_if(cells.begin(), cells.end(), [&](const CellResult* c) {
        const double size = size_of(*c);
        return c->outcome == Outcome::undecided &&
               !(series.holds_up_to && series.fails_from && size > *series.holds_up_to && size < *series.fails_from);
    });
    if (series.holds_up_to && series.fails_from && *series.holds_up_to >= *series.fails_from) {
        series.outcome = Outcome::fails;
        series.reason = "it fails below a size at which it holds: there is no one size that parts them";
    } else if (undecided != cells.end()) {
        series.reason = (*undecided)->reason;
    } else if (!series.holds_up_to) {
        series.reason = "it holds at no covered size: cover smaller ones";
    } else if (!series.fails_from) {
        series.reason = "it fails at no covered size: cover larger ones";
    } else {
        series.outcome = Outcome::holds;
        series.crossing = crossing_of(relation, **(after_last_hold - 1), **first_fail);
    }
    return series;
}

void add_series(TestResult& result) {
    using Key = std::tuple<std::string, DataType, CacheState, std::vector<Feature>>;
    std::map<Key, std::vector<const CellResult*>> groups;
    for (const CellResult& cell : result.cells) {
        const Measurement& m = *cell.exhibit.measurement;
        groups[{subject_of(m), m.problem.dtype, m.state, features_of(m.problem)}].push_back(&cell);
    }
    for (auto& [key, cells] : groups) {
        std::stable_sort(cells.begin(), cells.end(), [](auto a, auto b) { return size_of(*a) < size_of(*b); });
        result.series.push_back(judge_series(result.test->relation, cells));
    }
}

// Each reason of the undecided ones once, with the number of those it is the reason for.
template <class Results>
std::vector<std::pair<std::string, int>> counted_reasons(const Results& results) {
    std::vector<std::pair<std::string, int>> counts;
    for (const auto& result : results) {
        if (result.outcome != Outcome::undecided) {
            continue;
        }
        auto known =
            std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == result.reason; });
        if (known == counts.end()) {
            known = counts.insert(known, {result.reason, 0});
        }
        ++known->second;
    }
    return counts;
}

std::vector<std::string> reasons_of(const std::vector<SeriesResult>& series) {
    std::vector<std::string> sentences;
    for (const auto& [reason, count] : counted_reasons(series)) {
        sentences.push_back(fmt::format("{} of {} series of sizes: {}", count, series.size(), reason));
    }
    return sentences;
}

// With the number of further samples that would decide the most lacking of the cells.
std::vector<std::string> reasons_of(const std::vector<CellResult>& cells) {
    std::vector<std::string> sentences;
    for (const auto& [reason, count] : counted_reasons(cells)) {
        double most = 0;
        for (const CellResult& cell : cells) {
            if (cell.outcome == Outcome::undecided && cell.reason == reason) {
                most = std::max(most, cell.further.value_or(0));
            }
        }
        sentences.push_back(
            fmt::format("{} of {} cells: {}{}", count, cells.size(), reason,
                        most > 0 ? fmt::format("; about {:.0f} further samples would decide", most) : std::string()));
    }
    return sentences;
}

std::string nothing_measured(const Test& test, const Evidence& evidence) {
    const std::string where = text_of(test.where);
    std::vector<std::string> instead = evidence.instead_of_covered(test);
    constexpr std::size_t most = 4;
    if (instead.size() > most) {
        const std::size_t further = instead.size() - most;
        instead.resize(most);
        instead.push_back(fmt::format("and {} more", further));
    }
    return fmt::format("no measurement of {}{}{}{}{}", fmt::join(test.subjects, ", "), where.empty() ? "" : " where ",
                       where, instead.empty() ? "" : ": ", fmt::join(instead, "; "));
}

// Why the control does not come out the other way in each of its cells; empty if it does.
std::vector<std::string> faults_of_control(const TestResult& control, const Evidence& evidence) {
    if (control.cells.empty()) {
        return {"the control has no evidence: " + nothing_measured(*control.test, evidence)};
    }
    std::vector<std::string> faults;
    const auto failing = std::find_if(control.cells.begin(), control.cells.end(),
                                      [](const CellResult& c) { return c.outcome == Outcome::fails; });
    if (failing != control.cells.end()) {
        faults.push_back(
            fmt::format("the test has no teeth: the control, {}, does not come out so in {} of {} cells, as in {}, "
                        "where it is {:.4g}",
                        text_of(*control.test), control.count(Outcome::fails), control.cells.size(),
                        failing->exhibit.measurement->name(), *failing->value));
    }
    for (const std::string& reason : reasons_of(control.cells)) {
        faults.push_back("the control is undecided in " + reason);
    }
    return faults;
}

}  // namespace

std::size_t TestResult::count(Outcome outcome) const {
    return static_cast<std::size_t>(
        std::count_if(cells.begin(), cells.end(), [&](const CellResult& cell) { return cell.outcome == outcome; }));
}

Verdict judge(const Claim& claim, const Evidence& evidence) {
    Verdict verdict = {.claim = &claim};
    verdict.evidence = judge_cells(claim.test, evidence);
    if (claim.along_size) {
        add_series(verdict.evidence);
    }
    for (const Test& control : claim.controls) {
        verdict.controls.push_back(judge_cells(control, evidence));
        for (std::string& fault : faults_of_control(verdict.controls.back(), evidence)) {
            verdict.reasons.push_back(std::move(fault));
        }
    }
    const auto any = [&](Outcome outcome) {
        const auto is = [&](const auto& result) { return result.outcome == outcome; };
        const TestResult& r = verdict.evidence;
        return claim.along_size ? std::any_of(r.series.begin(), r.series.end(), is)
                                : std::any_of(r.cells.begin(), r.cells.end(), is);
    };
    const bool teeth = verdict.reasons.empty();
    if (verdict.evidence.cells.empty()) {
        verdict.reasons.insert(verdict.reasons.begin(), nothing_measured(claim.test, evidence));
    } else if (teeth && any(Outcome::fails)) {
        verdict.decision = Decision::refuted;
    } else if (teeth && !any(Outcome::undecided)) {
        verdict.decision = Decision::supported;
    } else {
        std::vector<std::string> reasons =
            claim.along_size ? reasons_of(verdict.evidence.series) : reasons_of(verdict.evidence.cells);
        verdict.reasons.insert(verdict.reasons.begin(), reasons.begin(), reasons.end());
    }
    return verdict;
}

}  // namespace qkprof
