#include "observed.h"

#include "count_doubts.h"
#include "error.h"
#include "kernel_names.h"
#include "promise_table.h"
#include "scope.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace qkprof::hlo {
namespace {

// Rows that one kernel may serve, and what ran of it.
struct Group {
    std::vector<std::size_t> rows;
    std::set<std::string> names;  // that its kernels may have
    Count promised;               // an execution, of all rows
    std::uint64_t launches = 0;
    std::vector<std::string> kernels;  // as the profile names them
    bool by_range = false;
};

bool is_leaf(const Row& row) { return row.verdict.kind != Class::control && row.verdict.kind != Class::nothing; }

// Kernels of XLA's own: each named after its instruction.
bool is_named(const Row& row) {
    return (row.verdict.kind == Class::fusion || row.verdict.kind == Class::unfused) && !row.verdict.kernels.none();
}

std::string number_text(double value) {
    return value == std::round(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

class Join {
  public:
    Join(const Promise& promise, const exec::ExecProfile& profile, const std::vector<const exec::RangeRow*>& ranges)
        : promise_(promise), scope_(scope_of(*promise.module, profile, ranges)), left_(scope_.kernels) {
        observed_.doubts = count_doubts(profile, ranges);
        observed_.of_others.assign(scope_.other_modules.begin(), scope_.other_modules.end());
    }

    Observed run() {
        observed_.rows.resize(promise_.rows.size());
        observed_.scoped = scope_.calls > 0;
        observed_.identified = scope_.of_module || (observed_.scoped && promise_.kernels.none());
        make_groups();
        for (Group& group : groups_) {
            take_ranges(group);
        }
        for (Group& group : groups_) {
            take_names(group);
        }
        count_executions();
        if (observed_.executions <= 0) {
            return std::move(observed_);
        }
        for (const Group& group : groups_) {
            judge(group);
        }
        take_strays();
        judge_transfers();
        sum_up();
        return std::move(observed_);
    }

  private:
    double an_execution(std::uint64_t count) const { return static_cast<double>(count) / observed_.executions; }

    void make_groups() {
        std::map<std::string, std::size_t> places;
        for (std::size_t i = 0; i < promise_.rows.size(); ++i) {
            const Row& row = promise_.rows[i];
            if (!is_leaf(row)) {
                continue;
            }
            const std::string key = row.verdict.kind == Class::fusion ? fingerprint(*promise_.module, *row.instruction)
                                                                      : row.in->name + " " + row.instruction->name;
            const auto [place, added] = places.emplace(key, groups_.size());
            if (added) {
                groups_.emplace_back();
            }
            Group& group = groups_[place->second];
            group.rows.push_back(i);
            group.promised = group.promised + row.kernels();
            if (is_named(row)) {
                const std::vector<std::string> names = kernel_names(*promise_.module, row);
                group.names.insert(names.begin(), names.end());
            }
        }
    }

    void take(Group& group, const std::string& kernel, std::uint64_t count) {
        group.launches += count;
        if (std::find(group.kernels.begin(), group.kernels.end(), kernel) == group.kernels.end()) {
            group.kernels.push_back(kernel);
        }
        const auto found = left_.find(kernel);
        if (found != left_.end()) {
            found->second -= std::min(found->second, count);
        }
    }

    void take_ranges(Group& group) {
        std::set<std::string> seen;  // an instruction that two rows run has its ranges once
        for (const std::size_t row : group.rows) {
            const auto found = scope_.by_instruction.find(promise_.rows[row].instruction->name);
            if (found == scope_.by_instruction.end() || !seen.insert(found->first).second) {
                continue;
            }
            group.by_range = true;
            for (const auto& [kernel, count] : found->second) {
                take(group, kernel, count);
            }
        }
    }

    void take_names(Group& group) {
        if (group.by_range) {
            return;
        }
        for (auto& [kernel, count] : left_) {
            if (count > 0 && group.names.contains(plain_kernel_name(kernel))) {
                take(group, kernel, count);
            }
        }
    }

    // By the calls of a range, or by what firm promises say where no range is chosen.
    void count_executions() {
        const auto devices = static_cast<std::uint64_t>(std::max<std::int64_t>(promise_.module->partitions(), 1)) *
                             static_cast<std::uint64_t>(std::max<std::int64_t>(promise_.module->replicas(), 1));
        if (scope_.calls > 0) {
            const std::uint64_t used = std::max<std::uint64_t>(scope_.devices.size(), 1);
            const std::uint64_t each = scope_.of_module ? 1 : std::min(devices, used);
            observed_.executions = static_cast<double>(scope_.calls) * static_cast<double>(each);
            observed_.how = scope_.of_module ? "XLA's own ranges of the module"
                            : each > 1       ? fmt::format("the calls of the range, on {} devices", each)
                                             : "the calls of the range";
            return;
        }
        std::map<double, std::size_t> votes;
        for (const Group& group : groups_) {
            if (group.promised.exact() && group.promised.least > 0 && group.launches > 0) {
                ++votes[static_cast<double>(group.launches) / static_cast<double>(group.promised.least)];
            }
        }
        const auto most = std::max_element(votes.begin(), votes.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most != votes.end()) {
            observed_.executions = most->first;
            observed_.how = "most fusions ran so often: no range is chosen that says it";
        }
    }

    std::string names_of(const Group& group) const {
        std::vector<std::string> names;
        for (const std::size_t row : group.rows) {
            names.push_back(printable(name_of(promise_.rows[row]), 80));
        }
        return fmt::format("{}", fmt::join(names, " and "));
    }

    void judge(const Group& group) {
        const Row& first = promise_.rows[group.rows.front()];
        const bool found = group.by_range || group.launches > 0;
        if (!found && !is_named(first)) {
            return;  // of a library, say: its kernels have names of their own
        }
        observed_.joined += found ? group.rows.size() : 0;
        const double ran = an_execution(group.launches);
        const bool kept = group.promised.holds(ran);
        for (const std::size_t i : group.rows) {
            Observation& row = observed_.rows[i];
            const Count own = promise_.rows[i].kernels();
            row.by_range = group.by_range;
            row.names = group.kernels;
            if (group.rows.size() == 1) {
                row.kernels = ran;
            } else if (kept && group.promised.exact()) {
                row.kernels = static_cast<double>(own.least);
            }
        }
        if (!kept) {
            const bool elsewhere =
                !observed_.scoped && group.promised.most && ran > static_cast<double>(*group.promised.most);
            observed_.differences.push_back(
                fmt::format("{}: promised {}, ran {}{}.", names_of(group), text_of(group.promised), number_text(ran),
                            elsewhere ? ", perhaps of another module: choose its calls with --range" : ""));
            observed_.broken =
                observed_.broken || (!elsewhere && first.verdict.kind == Class::fusion && counts(group.promised, ran));
        }
    }

    // What is left belongs to those whose kernels have names of their own.
    void take_strays() {
        std::uint64_t all = 0;
        for (const auto& [kernel, count] : left_) {
            if (count > 0) {
                observed_.strays.push_back({kernel, an_execution(count)});
                all += count;
            }
        }
        std::stable_sort(observed_.strays.begin(), observed_.strays.end(),
                         [](const Stray& a, const Stray& b) { return a.launches > b.launches; });
        std::vector<std::size_t> candidates;
        for (std::size_t i = 0; i < promise_.rows.size(); ++i) {
            const Row& row = promise_.rows[i];
            const bool launches = is_leaf(row) && !is_named(row) && !row.kernels().none();
            if (launches && !observed_.rows[i].kernels) {
                candidates.push_back(i);
            }
        }
        if (!observed_.scoped) {
            return;  // other modules' kernels are among them
        }
        if (candidates.size() == 1) {
            give_strays(candidates.front(), an_execution(all));
            return;
        }
        std::vector<std::string> names;
        for (const std::size_t row : candidates) {
            names.push_back(printable(name_of(promise_.rows[row]), 80));
            strays_kinds_.insert(promise_.rows[row].verdict.kind);
        }
        observed_.strays_of = fmt::format("{}", fmt::join(names, ", "));
        strays_ = an_execution(all);
        if (candidates.empty()) {
            for (const Stray& stray : observed_.strays) {
                observed_.differences.push_back(fmt::format("Nothing promised the kernel {}, which ran {}.",
                                                            printable(stray.name, 120), number_text(stray.launches)));
                observed_.broken = true;
            }
        }
    }

    void give_strays(std::size_t index, double ran) {
        const Row& row = promise_.rows[index];
        Observation& observation = observed_.rows[index];
        observation.kernels = ran;
        for (const Stray& stray : observed_.strays) {
            observation.names.push_back(stray.name);
        }
        observed_.strays.clear();
        observed_.joined += ran > 0 ? 1 : 0;
        if (!row.kernels().holds(ran)) {
            observed_.differences.push_back(fmt::format("{}: promised {}, ran {}: all that no other instruction did.",
                                                        printable(name_of(row), 80), text_of(row.kernels()),
                                                        number_text(ran)));
            observed_.broken = observed_.broken || (row.kernels().exact() && counts(row.kernels(), ran));
        }
    }

    // Too few breaks no promise where records may be missing.
    bool counts(const Count& promised, double ran) const {
        return observed_.doubts.empty() || ran >= static_cast<double>(promised.least);
    }

    // An instruction's by XLA's ranges; all together by the sum, in which a program's own copies may be, too.
    void judge_transfers() {
        std::map<std::string, Count> promised;  // an instruction that two rows run has its ranges once
        std::vector<std::size_t> copying;
        for (std::size_t i = 0; i < promise_.rows.size(); ++i) {
            const Count own = promise_.rows[i].transfers();
            if (!own.none()) {
                copying.push_back(i);
                Count& sum = promised[promise_.rows[i].instruction->name];
                sum = sum + own;
            }
        }
        bool named = false;
        for (const std::size_t i : copying) {
            const std::string& name = promise_.rows[i].instruction->name;
            const auto found = scope_.transfers_by_instruction.find(name);
            if (found == scope_.transfers_by_instruction.end() || promised.at(name) != promise_.rows[i].transfers()) {
                continue;
            }
            const double ran = an_execution(found->second);
            observed_.rows[i].transfers = ran;
            if (!promised.at(name).holds(ran)) {
                tell_transfers(printable(name_of(promise_.rows[i]), 80), promised.at(name), ran, true);
                named = true;
            }
        }
        const double all = an_execution(scope_.transfers);
        if (named || promise_.transfers.holds(all) || (!observed_.scoped && !too_few(promise_.transfers, all))) {
            return;  // said, or another module's copies may be among them
        }
        std::vector<std::string> names;
        for (const std::size_t i : copying) {
            constexpr std::size_t few = 12;
            if (promise_.rows[i].transfers().least > 0 && names.size() < few) {
                names.push_back(printable(name_of(promise_.rows[i]), 80));
            }
        }
        tell_transfers(names.empty() ? "The module" : fmt::format("{}", fmt::join(names, ", ")), promise_.transfers,
                       all, scope_.of_module);
    }

    static bool too_few(const Count& promised, double ran) { return ran < static_cast<double>(promised.least); }

    void tell_transfers(const std::string& who, const Count& promised, double ran, bool alone) {
        const bool firm = too_few(promised, ran) || alone;
        observed_.differences.push_back(fmt::format("{}: promised {} {}, ran {}{}.", who, text_of(promised),
                                                    promised == once ? "copy or fill" : "copies or fills",
                                                    number_text(ran), firm ? "" : ", perhaps the program's own"));
        observed_.broken = observed_.broken || (firm && counts(promised, ran));
    }

    void sum_up() {
        for (const Class kind : all_classes) {
            double sum = 0;
            bool known = kind != Class::control && kind != Class::nothing;
            for (std::size_t i = 0; i < promise_.rows.size(); ++i) {
                const Row& row = promise_.rows[i];
                if (row.verdict.kind == kind && !row.kernels().none()) {
                    known = known && observed_.rows[i].kernels.has_value();
                    sum += observed_.rows[i].kernels.value_or(0);
                }
            }
            observed_.classes[kind] = known ? std::optional(sum) : std::nullopt;
        }
        if (strays_kinds_.size() == 1) {  // not told apart, and all of one class
            double sum = strays_;
            for (std::size_t i = 0; i < promise_.rows.size(); ++i) {
                sum +=
                    promise_.rows[i].verdict.kind == *strays_kinds_.begin() ? observed_.rows[i].kernels.value_or(0) : 0;
            }
            observed_.classes[*strays_kinds_.begin()] = sum;
        }
        std::uint64_t all = 0;
        for (const auto& [kernel, count] : scope_.kernels) {
            all += count;
        }
        observed_.kernels = an_execution(all);
        if (observed_.scoped) {
            observed_.transfers = an_execution(scope_.transfers);
            std::set<Class> copying;
            for (const Row& row : promise_.rows) {
                if (!row.transfers().none()) {
                    copying.insert(row.verdict.kind);
                }
            }
            if (copying.size() == 1) {
                observed_.class_transfers[*copying.begin()] = observed_.transfers;
            }
        }
    }

    const Promise& promise_;
    Scope scope_;
    Launches left_;  // launches that no instruction has yet
    std::vector<Group> groups_;
    std::set<Class> strays_kinds_;
    double strays_ = 0;
    Observed observed_;
};

}  // namespace

Observed observe(const Promise& promise, const exec::ExecProfile& profile,
                 const std::vector<const exec::RangeRow*>& ranges) {
    return Join(promise, profile, ranges).run();
}

}  // namespace qkprof::hlo
