// qkprof trace: each variant once in its NVTX range, for Nsight Compute and Nsight Systems; prints how to call them.
#include "choice.h"

#include "range_name.h"
#include "trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

namespace qkprof::cli {
namespace {

// The path of this program for a shell.
std::string program() {
    std::error_code error;
    const std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
    return error ? "qkprof" : quoted(path);
}

// The options that trace this call alone.
std::string options_of(ChoiceOptions options, const Traced::Call& call, const Plan& plan, const DeviceInfo& device) {
    const Problem& p = plan.problems.front();
    options.variants = call.candidate->variant->name;
    options.states = name_of(call.state);
    options.shapes = p.shape_text();
    options.dtypes = name_of(p.dtype);
    options.device = device.id;
    options.problem = options_of(p, options.problem);
    options.sweeps.clear();  // those that other variants have
    for (const auto& [parameter, value] : call.candidate->non_standard) {
        options.sweeps.push_back(fmt::format("{}={}", parameter, value));
    }
    return text_of(options);
}

// The slash makes ncu look among push/pop ranges; its controls of clocks and caches would change the state that the
// call is traced in, and so would its replay of single kernels: each of its passes runs the program anew. nsys looks
// for registered strings alone unless it is told otherwise.
std::string commands_for(const std::string& range, const std::string& command) {
    return fmt::format(
        "# {0}\n"
        "ncu --nvtx --nvtx-include \"{1}@{0}/\" --replay-mode application --clock-control none --cache-control none "
        "{2}\n"
        "nsys profile --trace=cuda,nvtx --capture-range=nvtx --nvtx-capture={0}@{1} "
        "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0 {2}\n",
        range, nvtx_domain, command);
}

Exit trace_command(const ChoiceOptions& options) {
    const Choice choice = parse(options);
    const std::unique_ptr<Device> device = open_chosen_device(options.device);
    const DeviceInfo& info = device->info();
    const Plan plan = {.candidates = choice.candidates(info.backend),
                       .problems = choice.problems(info.backend, info.l2_bytes),
                       .states = choice.states,
                       .tuning = choice.tuning};
    const Traced traced = trace(*device, plan);
    for (const std::string& sentence : traced.refusals) {
        say(sentence);
    }
    const std::string path = program();
    for (const Traced::Call& call : traced.calls) {
        print(commands_for(range_name(call.candidate->variant->name, call.state),
                           fmt::format("{} trace{}", path, options_of(options, call, plan, info))));
    }
    if (traced.calls.empty()) {
        say("Nothing was traced: every chosen variant refused the problem.");
        return Exit::inconclusive;
    }
    return Exit::passed;
}

}  // namespace

void add_trace(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("trace", "each variant once in its NVTX range, for Nsight Compute and Nsight Systems");
    command->allow_extras();
    const auto options = std::make_shared<ChoiceOptions>();
    options->device = "cuda";
    add_choice(*command, *options);
    command->footer(
        "Runs each variant once in each state, in the push/pop range <variant>.<state> of the NVTX domain qkprof, "
        "with\n"
        "no counter of its own on, and prints the commands of ncu and nsys that select each range. The state is "
        "prepared\n"
        "outside the range. As the name says nothing of the problem, a trace holds one shape in one dtype.");
    command->final_callback([command, options, &chosen] {
        chosen = [command, options] {
            unknown_words(*command, {});
            return trace_command(*options);
        };
    });
}

}  // namespace qkprof::cli
