// The descriptor of a variant and the registry it enters by itself: the only thing the harness knows about a kernel.
#pragma once

#include "problem.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// Which build of the kernel sources a descriptor belongs to; each build registers its own.
enum class Backend : std::uint8_t { emulated, cuda };

enum class Family : std::uint8_t { ceiling, naive, split, register_only, shared_memory, cache_aware };

const char* name_of(Family family);

// What a kernel may count on in the device it runs on.
struct Limits {
    int multiprocessors = 1;
    std::int64_t shared_bytes_per_block = 0;  // with the opt-in above 48 KiB
    std::int64_t persisting_l2_bytes = 0;     // largest L2 set-aside; 0 where the device has none
};

// A tunable number of a variant. Only the listed values are compiled or make sense.
struct Parameter {
    std::string name;
    std::string meaning;
    int standard = 0;
    std::vector<int> values;
};

// The value of every parameter of one variant in one run.
using Parameters = std::map<std::string, int, std::less<>>;

// One variant's job: what to compute, how it is tuned, on what kind of device.
struct Request {
    Problem problem;
    Parameters parameters;
    Limits limits;

    int parameter(std::string_view name) const { return parameters.find(name)->second; }
};

// What a variant says of itself for one request. The harness counts and compares: a difference is an error.
struct Declaration {
    std::int64_t launches = 0;  // kernel executions a call
    // Bytes that its warps request from global memory, in whole 32-byte sectors, each warp-wide access coalesced on
    // its own (a sector that two accesses ask for counts twice; two lanes of one access, once).
    std::int64_t load_bytes = 0;
    std::int64_t store_bytes = 0;
    std::int64_t shared_bytes = 0;  // dynamic shared memory of the largest block
    // Whether it uses the bulk copy engine, whose traffic has hardware counters of its own.
    bool bulk_copies = false;
};

// Device addresses. q and out hold problem.elements() elements and do not overlap; the tables are as in Problem, sin
// right behind cos (sin == cos + sequence * head_dim / 2).
struct Buffers {
    const void* q = nullptr;
    void* out = nullptr;
    const float* gamma = nullptr;
    const float* cos = nullptr;
    const float* sin = nullptr;
    void* scratch = nullptr;  // Variant::scratch_bytes(), 256-byte aligned
};

// A CUDA stream, or the emulator that stands in for one.
struct Stream {
    void* handle = nullptr;
};

struct Call {
    const Request& request;
    Buffers buffers;
    Stream stream;
};

// A launch that the device refused: bad configuration, no memory, a fault before it.
struct LaunchError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Variant {
    std::string name;
    Family family = Family::naive;
    std::string hypothesis;  // one line: what this variant is there to test
    std::vector<Parameter> parameters;
    // Empty when the request can be run; otherwise the reason, as a clause that follows "refused: ".
    std::function<std::string(const Request&)> refuses;
    std::function<Declaration(const Request&)> declare;
    // Bytes of device memory for intermediates; may be empty (none).
    std::function<std::int64_t(const Request&)> scratch_bytes;
    // Bytes of L2 set-aside that the device must grant around the call; may be empty (none).
    std::function<std::int64_t(const Request&)> persisting_bytes;
    // Enqueues one call; throws LaunchError. Only for requests that `refuses` accepts.
    std::function<void(const Call&)> run;

    Parameters standard_parameters() const;
};

// The variants of one build, ordered by family and name.
const std::vector<Variant>& variants(Backend backend);

// Enters a variant at program start: one static object of this type in each kernel file.
struct Registration {
    Registration(Backend backend, Variant variant);
};

}  // namespace qkprof
