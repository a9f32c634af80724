// What ran on the GPU in a stretch of time, as plain records, and what they say of one call. Knows nothing of CUPTI:
// activity_recorder.h collects, this decodes.
#pragma once

#include "measurement.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof::cuda {

// One execution of a kernel. Times are in nanoseconds of the GPU's clock; 0: unknown.
struct KernelRecord {
    std::string name;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::array<std::int64_t, 3> grid = {};
    std::array<std::int64_t, 3> block = {};
    int registers = 0;             // a thread
    std::int64_t local_bytes = 0;  // a thread: spilled registers and the stack
    std::int64_t static_shared = 0;
    std::int64_t dynamic_shared = 0;
    std::uint32_t submission = 0;  // of the host's call that submitted it: all nodes of one graph launch share it
    std::uint32_t graph = 0;       // 0: not launched by a graph
    std::uint32_t stream = 0;
};

// One copy or fill of memory that is no kernel.
struct TransferRecord {
    enum class Kind : std::uint8_t { copy, fill } kind = Kind::copy;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::int64_t bytes = 0;
    std::uint32_t submission = 0;
};

struct Activities {
    std::vector<KernelRecord> kernels;
    std::vector<TransferRecord> transfers;
    std::uint64_t dropped = 0;
    std::string failure;  // why nothing could be recorded; then nothing else is meaningful
};

// What lies between the two executions of the sentinel kernel, in order of time; or why that cannot be told.
struct Between {
    std::vector<KernelRecord> kernels;
    std::vector<TransferRecord> transfers;
    std::string unknown;
};
Between between_sentinels(const Activities& activities, std::string_view sentinel);

// launches, submissions, transfers, registers, local_bytes and shared_bytes of one call, from the records of `calls`
// calls between two sentinels; without values and with the reason where the records do not prove them.
Counters launch_counters(const Activities& activities, std::string_view sentinel, int calls);

// The kernels of one call, from the same records, by their names in the source; none where the records do not prove
// them.
std::vector<KernelUse> kernels_of(const Activities& activities, std::string_view sentinel, int calls);

}  // namespace qkprof::cuda
