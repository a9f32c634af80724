// Many GPUs side by side: profiles of the same measurements, one a GPU, as `mpirun qkprof run` leaves them. How far
// they differ, and which GPUs are slower than the rest, count otherwise or compute something wrong. GPUs of different
// models are laid side by side apart, each model for itself. Sees profiles alone, never a device.
#pragma once

#include "error.h"
#include "fleet_times.h"
#include "profile.h"
#include "thresholds.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

struct FleetMember {
    std::filesystem::path path;
    Profile profile;
};

struct FleetOptions {
    std::vector<std::string> metrics;   // globs: those alone ("result": whether it is right); empty: all
    std::vector<std::string> variants;  // likewise
};

// In the order of display: the worst first.
enum class GpuStanding : std::uint8_t { wrong, slower, differs, inconclusive, ordinary };
inline constexpr std::array gpu_standings = {GpuStanding::wrong, GpuStanding::slower, GpuStanding::differs,
                                             GpuStanding::inconclusive, GpuStanding::ordinary};
constexpr const char* name_of(GpuStanding standing) {
    return standing == GpuStanding::wrong          ? "wrong result"
           : standing == GpuStanding::slower       ? "slower"
           : standing == GpuStanding::differs      ? "counts differ"
           : standing == GpuStanding::inconclusive ? "inconclusive"
                                                   : "as the rest";
}

// A count that a GPU has and most others have not.
struct CountDifference {
    std::string measurement;
    std::string metric;
    double value = 0;
    double usual = 0;       // where no difference is allowed what most have; otherwise the middle of all
    std::size_t alike = 0;  // GPUs that have the usual one
    std::size_t gpus = 0;   // that have the count
    double allowed = 0;     // more or less than the usual one
};

struct FleetGpu {
    std::string uuid;  // empty where there is none: of the emulated device
    std::string host;
    std::string file;  // its name in the folder
    std::string rank;  // empty where no launcher started it
    GpuStanding standing = GpuStanding::ordinary;
    std::size_t results = 0;  // that were looked at, whether they are right
    TimeVerdict time;
    std::size_t counts = 0;  // that were compared with those of others
    std::vector<CountDifference> differences;
    std::size_t lacking_measurements = 0;  // that most others hold
    std::size_t lacking_counts = 0;        // likewise
    std::size_t samples = 0;               // of time
    std::size_t throttled = 0;             // of them
    std::vector<std::string> wrong;        // sentences: what it computed wrong
    std::string reason;                    // why it is inconclusive, a clause

    // By its UUID, its host and its file, for sentences.
    std::string name() const;
};

// How far the GPUs differ in one metric of one measurement. Times are in seconds.
struct Spread {
    std::string metric;
    std::string measurement;
    std::size_t gpus = 0;  // that have it
    double least = 0;
    double median = 0;
    double greatest = 0;
    std::optional<double> spread;  // half the width of the middle half over the median; unknown below 3
    bool judged = false;           // whether thresholds.toml compares it

    double range() const;  // what lies between the least and the greatest, over the median
};

struct FleetModel {
    std::string device;           // "NVIDIA H200"
    std::vector<FleetGpu> gpus;   // the worst first
    std::vector<Spread> spreads;  // by metric, the widest range first
    std::size_t hosts = 0;
    std::size_t measurements = 0;  // that some GPU holds
    std::size_t timed = 0;         // of them, whose times were judged
    bool noise_measured = false;   // between two runs of one GPU, somewhere; otherwise thresholds.toml says it
    std::vector<std::string> notes;
};

struct Fleet {
    std::vector<FleetModel> models;

    std::size_t count(GpuStanding standing) const;
};

// Throws InputError where there is one member alone, where two are of the same GPU, and where nothing was chosen.
Fleet lay_side_by_side(const std::vector<FleetMember>& members, const Thresholds& thresholds,
                       const FleetOptions& options);

// wrong_result where a GPU computed something wrong; failed where one is slower or a count differs or, if `strict`,
// something is inconclusive; inconclusive where, without `strict`, something is or nothing could be judged; else
// passed.
Exit exit_of(const Fleet& fleet, bool strict);

}  // namespace qkprof
