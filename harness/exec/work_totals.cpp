#include "work_totals.h"

#include "error.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>

namespace qkprof::exec {
namespace {

constexpr std::size_t longest_name = std::size_t{1} << 14U;
// Of a kernel in a stretch, more than are kept in the end: which are the most frequent shows late.
constexpr std::size_t most_live_forms = 4 * most_forms;

std::string readable(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                           &std::free);
    return printable(status == 0 && text != nullptr ? std::string_view(text.get()) : name, longest_name);
}

bool is_form(const LaunchForm& form, const Kernel& kernel) {
    return form.device == kernel.device && form.stream == kernel.stream && form.graph == (kernel.graph != 0) &&
           std::equal(form.grid.begin(), form.grid.end(), kernel.grid) &&
           std::equal(form.block.begin(), form.block.end(), kernel.block) && form.registers == kernel.registers &&
           form.static_shared == kernel.static_shared && form.dynamic_shared == kernel.dynamic_shared;
}

LaunchForm form_of(const Kernel& kernel) {
    LaunchForm form = {.device = kernel.device,
                       .stream = kernel.stream,
                       .graph = kernel.graph != 0,
                       .registers = kernel.registers,
                       .static_shared = kernel.static_shared,
                       .dynamic_shared = kernel.dynamic_shared,
                       .count = 0};
    std::copy(std::begin(kernel.grid), std::end(kernel.grid), form.grid.begin());
    std::copy(std::begin(kernel.block), std::end(kernel.block), form.block.begin());
    return form;
}

}  // namespace

std::uint32_t KernelNames::number_of(std::string_view name) {
    std::string text = readable(std::string(name));
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) {
        return found->second;
    }
    if (full()) {
        return 0;
    }
    const auto number = static_cast<std::uint32_t>(texts_.size());
    texts_.push_back(text);
    numbers_.emplace(std::move(text), number);
    return number;
}

void WorkTotals::Times::add(std::optional<std::uint64_t> duration) {
    ++count;
    if (duration) {
        durations.add(*duration);
    } else {
        ++without;
    }
}

void WorkTotals::add(std::uint32_t kernel_name, const Kernel& kernel, std::optional<std::uint64_t> duration,
                     Room& room) {
    auto found = kernels_.find(kernel_name);
    if (found == kernels_.end()) {
        if (room.kernels == 0) {
            kernel_name = 0;
        } else {
            --room.kernels;
        }
        found = kernels_.try_emplace(kernel_name).first;
    }
    KernelTotals& totals = found->second;
    ++launches;
    totals.times.add(duration);
    add_form(totals, kernel, room);
}

void WorkTotals::add_form(KernelTotals& totals, const Kernel& kernel, Room& room) {
    std::vector<LaunchForm>& forms = totals.forms;
    if (totals.last_form >= forms.size() || !is_form(forms[totals.last_form], kernel)) {
        const auto found =
            std::find_if(forms.begin(), forms.end(), [&](const LaunchForm& form) { return is_form(form, kernel); });
        totals.last_form = static_cast<std::size_t>(found - forms.begin());
        if (found == forms.end()) {
            if (forms.size() == most_live_forms || (room.forms == 0 && !forms.empty())) {
                ++totals.in_other_forms;
                return;
            }
            room.forms -= std::min<std::size_t>(room.forms, 1);
            forms.push_back(form_of(kernel));
        }
    }
    ++forms[totals.last_form].count;
}

void WorkTotals::add(const Transfer& transfer, std::optional<std::uint64_t> duration) {
    TransferTotals& totals = copies_.at(static_cast<std::size_t>(transfer.kind));
    ++transfers;
    totals.bytes += transfer.bytes;
    totals.times.add(duration);
}

std::optional<Spread> WorkTotals::spread_of(const Durations& durations) {
    if (durations.count() == 0) {
        return {};
    }
    return Spread{.total = seconds_of(durations.total()),
                  .least = seconds_of(durations.least()),
                  .p10 = seconds_of(durations.quantile(0.1)),
                  .median = seconds_of(durations.quantile(0.5)),
                  .p90 = seconds_of(durations.quantile(0.9)),
                  .p99 = seconds_of(durations.quantile(0.99)),
                  .most = seconds_of(durations.most())};
}

Work WorkTotals::work(const KernelNames& names) const {
    Work work = {.launches = launches,
                 .transfers = transfers,
                 .submissions = submissions,
                 .busy_seconds = seconds_of(busy),
                 .span_seconds = seconds_of(span),
                 .kernels = {},
                 .copies = {}};
    for (const auto& [number, totals] : kernels_) {
        KernelRow row = {.name = names.text(number),
                         .count = totals.times.count,
                         .without_time = totals.times.without,
                         .seconds = spread_of(totals.times.durations),
                         .forms = totals.forms,
                         .in_other_forms = totals.in_other_forms};
        std::stable_sort(row.forms.begin(), row.forms.end(),
                         [](const LaunchForm& a, const LaunchForm& b) { return a.count > b.count; });
        while (row.forms.size() > most_forms) {
            row.in_other_forms += row.forms.back().count;
            row.forms.pop_back();
        }
        work.kernels.push_back(std::move(row));
    }
    std::sort(work.kernels.begin(), work.kernels.end(), [](const KernelRow& a, const KernelRow& b) {
        const auto key = [](const KernelRow& row) {
            return std::tuple(row.seconds ? -row.seconds->total : 0.0, ~row.count, std::string_view(row.name));
        };
        return key(a) < key(b);
    });
    for (const TransferKind kind : all_transfer_kinds) {
        const TransferTotals& totals = copies_.at(static_cast<std::size_t>(kind));
        if (totals.times.count > 0) {
            work.copies.push_back({.kind = kind,
                                   .count = totals.times.count,
                                   .bytes = totals.bytes,
                                   .without_time = totals.times.without,
                                   .seconds = spread_of(totals.times.durations)});
        }
    }
    return work;
}

}  // namespace qkprof::exec
