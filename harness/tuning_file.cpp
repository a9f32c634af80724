#include "tuning_file.h"

#include "error.h"
#include "input_file.h"

#include <fmt/format.h>

namespace qkprof {

TuningFile::TuningFile(const std::filesystem::path& path, const std::vector<Variant>& known)
    : path_(path), file_(path, "--out", "") {
    constexpr std::uintmax_t largest = std::uintmax_t{1} << 20U;  // thousands of entries
    if (std::filesystem::exists(path)) {
        before_ = parse_tuning(read_input_file(path, "tuning table", largest), path.string(), known);
    }
}

void TuningFile::set_device(const std::string& device) {
    if (before_ && before_->device != device) {
        throw InputError(fmt::format("--out {} is the table of {}, and what is tuned is {}: name another file.",
                                     path_.string(), before_->device, device));
    }
    found_.device = device;
}

void TuningFile::add(const std::string& variant, const TuningEntry& entry) {
    found_.entries[variant].push_back(entry);
    TuningTable table = before_.value_or(TuningTable{.device = found_.device, .entries = {}});
    merge(table, found_);
    file_.write(to_toml(table));
}

std::string TuningFile::summary() const {
    if (found_.entries.empty()) {
        return fmt::format("{}: nothing was written, as nothing was found.", path_.string());
    }
    TuningTable table = before_.value_or(TuningTable());
    const Merged merged = merge(table, found_);
    return fmt::format("{}: {} new, {} replaced, {} kept.", path_.string(), merged.added, merged.replaced, merged.kept);
}

}  // namespace qkprof
