// Runs a command and gathers what the injected library tells of it and of the processes that it starts.
#pragma once

#include "collector.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace qkprof::exec {

struct Ended {
    std::optional<int> exit_code;  // of the command
    int signal = 0;                // that ended it, or this program while it waited for it
    bool given_up = false;         // it still ran when this program was told twice to end
    std::size_t running = 0;       // processes that had not ended
    double wall_seconds = 0;
};

struct Watch {
    std::chrono::duration<double> wait = std::chrono::seconds(5);  // for other processes, after the command's end
    // Called when the command is started, before anything is received.
    std::function<void()> started;
    // Called now and then, and when this program is told to end.
    std::function<void(bool told_to_end)> meanwhile;
};

// Throws InputError where the command cannot be run, CannotMeasure where it cannot be watched.
Ended run_watched(const std::vector<std::string>& command, Collector& collector, const Watch& watch);

// Nanoseconds of CLOCK_REALTIME.
std::uint64_t time_now();

}  // namespace qkprof::exec
