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

// framework: not a variant of this program but what XLA, PyTorch or Triton make of the operation (scripts/routes).
enum class Family : std::uint8_t { ceiling, naive, split, register_only, shared_memory, cache_aware, framework };

const char* name_of(Family family);

// What a kernel may count on in the device it runs on.
struct Limits {
    int multiprocessors = 1;
    std::int64_t shared_bytes_per_block = 0;  // with the opt-in above 48 KiB
    std::int64_t persisting_l2_bytes = 0;     // largest L2 set-aside; 0 where the device has none
    std::int64_t l2_bytes = 0;                // 0: unknown
};

// What a problem may ask for beyond its first form (Problem::is_plain). `qkprof list variants` shows who does what.
enum class Feature : std::uint8_t {
    key_heads,
    packed,   // rows of query, key and value heads
    padding,  // gaps between the tokens
    in_place,
    positions,  // from a list of ids
    interleaved,
    partial_rotary,
    narrow_tables,  // tables in the storage type of 16 bits
    narrow_gamma,
    gemma
};
inline constexpr Feature all_features[] = {
    Feature::key_heads,   Feature::packed,         Feature::padding,       Feature::in_place,     Feature::positions,
    Feature::interleaved, Feature::partial_rotary, Feature::narrow_tables, Feature::narrow_gamma, Feature::gemma};

const char* name_of(Feature feature);

// The features that a problem asks for.
std::vector<Feature> features_of(const Problem& problem);

// The standard of a parameter whose value is looked up for each problem in a table of what was measured
// (harness/tuning.h). It is none of the values: no variant is ever asked anything with it.
inline constexpr int as_tuned = -1;

// A tunable number of a variant. Only the listed values are compiled or make sense.
struct Parameter {
    std::string name;
    std::string meaning;
    int standard = 0;
    std::vector<int> values;

    bool tuned() const { return standard == as_tuned; }
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

// Device addresses, laid out as Problem says: the first element of the first query head (key head) of the first token,
// in the type of the problem; k is null where there are no key heads. In place the results' addresses are the inputs',
// else the two do not overlap. gamma and tables are in their types, sin right behind cos; positions is null where they
// are implicit, and every id is inside the tables.
struct Buffers {
    const void* q = nullptr;
    const void* k = nullptr;
    void* q_out = nullptr;
    void* k_out = nullptr;
    const void* gamma_q = nullptr;
    const void* gamma_k = nullptr;
    const void* cos = nullptr;
    const void* sin = nullptr;
    const void* positions = nullptr;
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
    std::vector<Feature> features = {};  // what it can do beyond the first form
    // Empty when the request, which asks for no other features, can be run; otherwise the reason, as a clause that
    // follows "refused: ". For refusal() alone.
    std::function<std::string(const Request&)> refuses;
    std::function<Declaration(const Request&)> declare;
    // Bytes of device memory for intermediates; may be empty (none).
    std::function<std::int64_t(const Request&)> scratch_bytes;
    // Bytes of L2 set-aside that the device must grant around the call; may be empty (none).
    std::function<std::int64_t(const Request&)> persisting_bytes;
    // Enqueues one call; throws LaunchError. Only for requests that refusal() accepts.
    std::function<void(const Call&)> run;

    Parameters standard_parameters() const;
    // Whether any of its parameters is.
    bool tuned() const;
    bool has(Feature feature) const;
    // Why the variant does not run the request, by what it cannot do or by `refuses`; empty if it does.
    std::string refusal(const Request& request) const;
};

// The variants of one build, ordered by family and name.
const std::vector<Variant>& variants(Backend backend);

// Enters a variant at program start: one static object of this type in each kernel file.
struct Registration {
    Registration(Backend backend, Variant variant);
};

}  // namespace qkprof
