#include "rank.h"

#include "error.h"
#include "names.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace qkprof {
namespace {

// The variables that a launcher sets for each process. Those of Slurm are set in a step (srun): a batch script has a
// SLURM_PROCID and a SLURM_LOCALID too, but no SLURM_STEP_NUM_TASKS.
struct Launcher {
    const char* name;
    const char* local;
    const char* number;
    const char* count;
};

// Those that others start their daemons with come last.
constexpr std::array launchers = {
    Launcher{"Open MPI", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"MVAPICH", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    Launcher{"MVAPICH", "MVP_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE"},
    Launcher{"Hydra (MPICH, Intel MPI)", "MPI_LOCALRANKID", "PMI_RANK", "PMI_SIZE"},
    Launcher{"PALS", "PALS_LOCAL_RANKID", "PALS_RANKID", "PMI_SIZE"},
    Launcher{"Flux", "FLUX_TASK_LOCAL_ID", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    Launcher{"Slurm", "SLURM_LOCALID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

}  // namespace

std::vector<std::pair<std::string, std::string>> Rank::facts() const {
    return {{"rank", fmt::format("{}", number)}, {"ranks", fmt::format("{}", count)}, {"launcher", launcher}};
}

std::optional<Rank> rank_from(const Environ& environment) {
    if (environment(further_run_variable) != nullptr) {
        return {};
    }
    for (const Launcher& launcher : launchers) {
        const char* local = environment(launcher.local);
        const char* number = environment(launcher.number);
        const char* count = environment(launcher.count);
        if (local == nullptr || number == nullptr || count == nullptr) {
            continue;
        }
        const auto read = [&](const char* variable, const char* text, int least) {
            constexpr int most = 10'000'000;
            return static_cast<int>(
                parse_integer(text,
                              fmt::format("The environment says that {} started this process, and its {}",  //
                                          launcher.name, variable),
                              least, most));
        };
        const Rank rank = {.local = read(launcher.local, local, 0),
                           .number = read(launcher.number, number, 0),
                           .count = read(launcher.count, count, 1),
                           .launcher = launcher.name};
        for (const auto& [variable, value] :
             {std::pair{launcher.number, rank.number}, std::pair{launcher.local, rank.local}}) {
            if (value >= rank.count) {
                throw InputError(fmt::format(
                    "The environment says that {} started this process, and contradicts itself: {} is {} and {} is {}, "
                    "and ranks are counted from 0. Unset them where they are left over from something else.",
                    launcher.name, variable, value, launcher.count, rank.count));
            }
        }
        return rank.count > 1 ? std::optional(rank) : std::nullopt;
    }
    return {};
}

std::optional<Rank> own_rank() {
    return rank_from([](const char* variable) { return std::getenv(variable); });
}

std::filesystem::path path_of(const std::filesystem::path& path, const Rank& rank) {
    const std::size_t width = fmt::format("{}", rank.count - 1).size();
    std::filesystem::path own = path;
    own.replace_filename(fmt::format("{}.rank{:0{}}{}", path.stem().string(), rank.number, width,  //
                                     path.extension().string()));
    return own;
}

int gpu_of(const Rank& rank, std::size_t gpus, const char* visible) {
    const std::string_view chosen = visible == nullptr ? "" : visible;
    if (gpus == 1 && !chosen.empty() && chosen.find(',') == std::string_view::npos) {
        return 0;
    }
    if (static_cast<std::size_t>(rank.local) < gpus) {
        return rank.local;
    }
    throw CannotMeasure(fmt::format(
        "This is rank {} of {}, local rank {} on this machine, and {} GPU{} to be seen here{}: start as many ranks on "
        "a "
        "machine as it has GPUs, or let the launcher show each rank a GPU of its own (srun --gpus-per-task=1).",
        rank.number, rank.count, rank.local, gpus, gpus == 1 ? " is" : "s are",
        chosen.empty() ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES is {})", chosen)));
}

}  // namespace qkprof
