#include "dump.h"

#include "error.h"
#include "input_file.h"
#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace qkprof::hlo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view optimised = "after_optimizations.txt";

fs::path if_there(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) ? path : fs::path();
}

// "module_0001.jit_f" of "module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt"
std::string module_of(const std::string& name) {
    const std::size_t first = name.find('.');
    const std::size_t second = first == std::string::npos ? first : name.find('.', first + 1);
    return name.substr(0, second);
}

std::vector<Dump> dumps_in(const fs::path& folder) {
    std::vector<Dump> all;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (!name.starts_with("module_") || !name.ends_with(optimised) || if_there(entry->path()).empty()) {
            continue;
        }
        Dump dump;
        dump.module = module_of(name);
        dump.after = entry->path();
        dump.before = if_there(folder / (dump.module + ".before_optimizations.txt"));
        const std::string stem = name.substr(0, name.size() - std::string_view(".txt").size());
        dump.buffers = if_there(folder / (stem + "-buffer-assignment.txt"));
        dump.thunks = if_there(folder / (dump.module + ".thunk_sequence_after_thunk_passes.txt"));
        all.push_back(std::move(dump));
    }
    if (error) {
        throw InputError(fmt::format("The folder {} cannot be read: {}.", folder.string(), error.message()));
    }
    std::sort(all.begin(), all.end(), [](const Dump& a, const Dump& b) { return a.after < b.after; });
    return all;
}

}  // namespace

Dump find_dump(const fs::path& folder, const std::string& glob) {
    const std::vector<Dump> all = dumps_in(folder);
    std::vector<std::string> names;
    const Dump* found = nullptr;
    std::size_t matching = 0;
    for (const Dump& dump : all) {
        names.push_back(dump.module);
        const std::string alone = dump.module.substr(std::min(dump.module.find('.') + 1, dump.module.size()));
        if (glob.empty() || matches_glob(glob, dump.module) || matches_glob(glob, alone)) {
            found = &dump;
            ++matching;
        }
    }
    if (all.empty()) {
        throw InputError(fmt::format("The folder {} holds no module_*{}: it is to be one that --xla_dump_to filled.",
                                     folder.string(), optimised));
    }
    if (matching != 1) {
        throw InputError(fmt::format("The folder {} holds {}{}: choose one with --module GLOB. There are {}.",
                                     folder.string(), matching == 0 ? "no module" : fmt::format("{} modules", matching),
                                     glob.empty() ? "" : fmt::format(" that matches '{}'", glob), joined(names)));
    }
    return *found;
}

CommandBuffers command_buffers(const fs::path& thunks) {
    constexpr std::uintmax_t largest = std::uintmax_t{64} << 20U;
    std::istringstream text(read_input_file(thunks, "thunk sequence", largest));
    CommandBuffers found;
    std::size_t margin = std::string::npos;  // of the command buffer that is open
    for (std::string line; std::getline(text, line);) {
        const std::size_t start = line.find_first_not_of(' ');
        if (start == std::string::npos) {
            continue;
        }
        margin = margin != std::string::npos && start <= margin ? std::string::npos : margin;
        const bool is_command = line.find(": k") != std::string::npos;
        found.commands += margin != std::string::npos && is_command ? 1 : 0;
        if (line.find(": kCommandBuffer") != std::string::npos && margin == std::string::npos) {
            ++found.buffers;
            margin = start;
        }
    }
    return found;
}

}  // namespace qkprof::hlo
