// One of the processes that a launcher (mpirun, srun, flux run) started together, one a GPU. What it is follows from
// the launcher's own environment: nothing is linked, and no process speaks to another.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qkprof {

struct Rank {
    int local = 0;  // among those on this machine
    int number = 0;
    int count = 1;
    std::string launcher;  // "Open MPI", "Slurm"

    // For the profile's context.
    std::vector<std::pair<std::string, std::string>> facts() const;
};

// Set in the environment of a process that takes part in another one's run (run --aa): it is no rank of its own.
inline constexpr const char* further_run_variable = "QKPROF_FURTHER_RUN";

// Null where the variable is not set.
using Environ = std::function<const char*(const char* variable)>;

// None where no launcher says all of it, as in the script of a batch job, and where it started one process alone. Where
// several do, as below a step of Slurm that starts mpirun's daemons, the one that started this process counts. Throws
// InputError where what it says is no number or contradicts itself.
std::optional<Rank> rank_from(const Environ& environment);

// Of this process.
std::optional<Rank> own_rank();

// profile.json becomes profile.rank03.json: as wide as the largest of the ranks.
std::filesystem::path path_of(const std::filesystem::path& path, const Rank& rank);

// The number of the GPU that the rank takes, where `gpus` are visible: that of its place on this machine; or, where the
// launcher shows each process one of its own (`visible`, the value of CUDA_VISIBLE_DEVICES, names one), the first.
// Throws CannotMeasure where there are fewer GPUs than ranks.
int gpu_of(const Rank& rank, std::size_t gpus, const char* visible);

}  // namespace qkprof
