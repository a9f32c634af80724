#include "further_runs.h"

#include "error.h"
#include "problem_options.h"
#include "rank.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>

namespace qkprof::cli {
namespace {

// What the command writes to standard output, to its end.
std::string output_of(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
        throw CannotMeasure("A further run could not be started: the system has no process left.");
    }
    std::string text;
    std::array<char, 1 << 16> buffer = {};
    for (std::size_t read = 1; read > 0;) {
        errno = 0;
        read = std::fread(buffer.data(), 1, buffer.size(), pipe);
        text.append(buffer.data(), read);
        if (read == 0 && errno == EINTR) {  // the signal that ends this run at its next step, and the other one too
            std::clearerr(pipe);
            read = 1;
        }
    }
    const int status = pclose(pipe);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    // What else a run may say, it has said of the first one, too.
    if (code < 0 || code == static_cast<int>(Exit::bad_input) || code == static_cast<int>(Exit::cannot_measure)) {
        throw CannotMeasure(code < 0 ? "A further run was ended by a signal."
                                     : fmt::format("A further run ended with exit code {}.", code));
    }
    return text;
}

}  // namespace

// All of it once more, what is counted, too, as BASE and NEW of a comparison did.
void add_further_run(const FurtherRun& run, Profile& profile) {
    std::string command =
        fmt::format("{}=1 exec {} run{} --samples {} --format json", further_run_variable,
                    quoted(std::filesystem::read_symlink("/proc/self/exe").string()), text_of(run.choice), run.samples);
    command += run.metrics.empty() ? "" : " --metrics " + quoted(run.metrics);
    for (const std::string& flag : run.benchmark_flags) {
        command += " " + quoted(flag);
    }
    const Profile further = parse_profile(output_of(command), "of a further run");
    if (!further.environment.complete) {
        throw CannotMeasure("A further run was interrupted.");
    }
    std::map<std::string, const Measurement*> by_name;
    for (const Measurement& m : further.measurements) {
        by_name.emplace(m.name(), &m);
    }
    for (Measurement& m : profile.measurements) {
        const auto found = by_name.find(m.name());
        m.aa_seconds.push_back(found == by_name.end() ? std::vector<double>() : found->second->seconds);
    }
}

}  // namespace qkprof::cli
