#include "timings.h"

#include <fmt/format.h>

#include <utility>

namespace qkprof {
namespace {

constexpr std::array names = {"start",    "reading profiles",    "calibration", "inputs", "verification",
                              "counting", "preparing",           "warm-up",     "timing", "noise",
                              "judging",  "writing the profile", "printing",    "other"};
static_assert(names.size() == all_steps.size());

std::size_t index_of(Step step) { return static_cast<std::size_t>(step); }

}  // namespace

const char* name_of(Step step) { return names.at(index_of(step)); }

std::chrono::nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

Timings::Timings(std::chrono::nanoseconds started, Now now) : now_(std::move(now)), last_(started) {
    kept_.at(index_of(Step::start)).times = 1;
}

void Timings::ready() {
    charge();
    open_.front() = Step::other;
}

void Timings::charge() {
    const std::chrono::nanoseconds now = now_();
    kept_.at(index_of(open_.back())).time += now - last_;
    last_ = now;
}

Timings::Scope::Scope(Timings* timings, Step step) : timings_(timings) {
    if (timings_ != nullptr) {
        timings_->charge();
        timings_->open_.push_back(step);
        ++timings_->kept_.at(index_of(step)).times;
    }
}

Timings::Scope::~Scope() {
    if (timings_ != nullptr) {
        timings_->charge();
        timings_->open_.pop_back();
    }
}

std::vector<StepTime> Timings::so_far() {
    charge();
    std::vector<StepTime> result;
    for (const Step step : all_steps) {
        const auto& [time, times] = kept_.at(index_of(step));
        if (times > 0 || step == Step::other) {
            result.push_back({step, std::chrono::duration<double>(time).count(), times});
        }
    }
    return result;
}

Table timings_table(const std::vector<StepTime>& timings) {
    double all = 0;
    for (const StepTime& of : timings) {
        all += of.seconds;
    }
    Table table = {.columns = {{"step"}, {"seconds", true}, {"share", true}, {"times", true}},
                   .sections = {{.heading = "where the wall time went", .rows = {}, .notes = {}}},
                   .notes = {}};
    const auto add = [&](const char* name, double seconds, std::int64_t times) {
        table.sections.front().rows.push_back({{name},
                                               {fmt::format("{:.3f}", seconds)},
                                               {all > 0 ? fmt::format("{:.1f}%", 100 * seconds / all) : "-"},
                                               {times > 0 ? fmt::format("{}", times) : ""}});
    };
    for (const StepTime& of : timings) {
        add(name_of(of.step), of.seconds, of.times);
    }
    add("all", all, 0);
    return table;
}

}  // namespace qkprof
