// An exec profile as rows for a program.
#include "exec_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace qkprof::exec {
namespace {

const std::vector<const char*> columns = {"kind",      "range",         "name",           "calls",         "launches",
                                          "transfers", "submissions",   "least_launches", "most_launches", "busy_s",
                                          "span_s",    "count",         "bytes",          "total_s",       "least_s",
                                          "p10_s",     "median_s",      "p90_s",          "p99_s",         "most_s",
                                          "device",    "stream",        "graph",          "grid",          "block",
                                          "registers", "static_shared", "dynamic_shared", "form_count"};

// A row by the names of its columns; those that say nothing of it are empty.
class Row {
  public:
    Row(const char* kind, const std::string& range, const std::string& name) : cells_(columns.size()) {
        set("kind", std::string(kind));
        set("range", range);
        set("name", name);
    }
    template <class T>
    void set(const char* column, const T& value) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (std::string_view(columns[i]) == column) {
                cells_[i] = {fmt::format("{}", value)};
            }
        }
    }
    void set(const std::optional<Spread>& spread) {
        if (spread) {
            set("total_s", spread->total);
            set("least_s", spread->least);
            set("p10_s", spread->p10);
            set("median_s", spread->median);
            set("p90_s", spread->p90);
            set("p99_s", spread->p99);
            set("most_s", spread->most);
        }
    }
    void set(const LaunchForm& form) {
        set("device", form.device);
        set("stream", form.stream);
        set("graph", form.graph ? "yes" : "no");
        set("grid", fmt::format("{}", fmt::join(form.grid, "x")));
        set("block", fmt::format("{}", fmt::join(form.block, "x")));
        set("registers", form.registers);
        set("static_shared", form.static_shared);
        set("dynamic_shared", form.dynamic_shared);
        set("form_count", form.count);
    }
    void set(const Work& work) {
        set("launches", work.launches);
        set("transfers", work.transfers);
        set("submissions", work.submissions);
        set("busy_s", work.busy_seconds);
        set("span_s", work.span_seconds);
    }
    std::vector<Cell> take() { return std::move(cells_); }

  private:
    std::vector<Cell> cells_;
};

void add_work(Section& section, const std::string& range, const Work& work) {
    for (const KernelRow& kernel : work.kernels) {
        Row row("kernel", range, kernel.name);
        row.set("count", kernel.count);
        row.set(kernel.seconds);
        if (!kernel.forms.empty()) {
            row.set(kernel.forms.front());
        }
        section.rows.push_back(row.take());
    }
    for (const TransferRow& transfer : work.copies) {
        Row row("transfer", range, name_of(transfer.kind));
        row.set("count", transfer.count);
        row.set("bytes", transfer.bytes);
        row.set(transfer.seconds);
        section.rows.push_back(row.take());
    }
}

}  // namespace

Table exec_rows(const ExecProfile& profile) {
    Table table;
    for (const char* column : columns) {
        table.columns.push_back({column});
    }
    Section section;
    Row whole("whole", "", "");
    whole.set(profile.work);
    section.rows.push_back(whole.take());
    add_work(section, "", profile.work);
    for (const RangeRow& range : profile.ranges) {
        std::vector<std::string> path = range.inside;
        path.push_back(text_of(range));
        const std::string place = fmt::format("{}", fmt::join(path, " > "));
        Row row("range", place, text_of(range));
        row.set("calls", range.calls);
        row.set("least_launches", range.least_launches);
        row.set("most_launches", range.most_launches);
        row.set(range.work);
        section.rows.push_back(row.take());
        add_work(section, place, range.work);
    }
    table.sections.push_back(std::move(section));
    return table;
}

}  // namespace qkprof::exec
