// The variants of the CUDA device for XLA, by its foreign function interface: one handler that is told the variant's
// name, so that a program may register it under as many target names as it wants to read in its HLO; and a function
// that says with which parameters it runs a problem.
//
// It may be loaded into a Python that has a C++ runtime and a CUDA runtime of its own: both are linked in statically,
// and nothing but the two is visible.
#include "tuning_table.h"

#include <cuda_runtime_api.h>
#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace qkprof {
namespace {

namespace ffi = xla::ffi;

ffi::Error refused(std::string_view variant, const std::string& why) {
    return ffi::Error::InvalidArgument("qkprof's " + std::string(variant) + " cannot be run: " + why);
}

std::optional<DataType> storage_type(ffi::DataType type) {
    switch (type) {
        case ffi::F32:
            return DataType::f32;
        case ffi::BF16:
            return DataType::bf16;
        case ffi::F16:
            return DataType::f16;
        default:
            return std::nullopt;
    }
}

bool has_extents(ffi::Span<const std::int64_t> extents, std::initializer_list<std::int64_t> wanted) {
    return std::equal(extents.begin(), extents.end(), wanted.begin(), wanted.end());
}

// What the operands ask for; `fault`, a clause, where they ask for nothing that there is.
struct Asked {
    Problem problem;
    std::string fault;
};

Asked asked(ffi::AnyBuffer q, ffi::AnyBuffer gamma, ffi::AnyBuffer tables, ffi::AnyBuffer out) {
    const ffi::Span<const std::int64_t> shape = q.dimensions();
    const std::optional<DataType> dtype = storage_type(q.element_type());
    if (shape.size() != 4 || !dtype) {
        return {{}, "q is no tensor [batch, sequence, heads, head_dim] of f32, bf16 or f16."};
    }
    const Problem problem = {
        .batch = shape[0], .sequence = shape[1], .heads = shape[2], .head_dim = shape[3], .dtype = *dtype};
    if (gamma.element_type() != ffi::F32 || !has_extents(gamma.dimensions(), {problem.head_dim})) {
        return {problem, "gamma is no f32[head_dim]."};
    }
    if (tables.element_type() != ffi::F32 ||
        !has_extents(tables.dimensions(), {2, problem.sequence, problem.head_dim / 2})) {
        return {problem, "the tables are no f32[2, sequence, head_dim / 2], the cosines before the sines."};
    }
    const ffi::Span<const std::int64_t> result = out.dimensions();
    if (out.element_type() != q.element_type() ||
        !std::equal(result.begin(), result.end(), shape.begin(), shape.end())) {
        return {problem, "the result is not of q's type and shape."};
    }
    const std::string fault = problem.fault();
    return {problem, problem.rows() > max_rows ? "it has more head vectors than 32 bits count."
                     : fault.empty()           ? ""
                                               : fault + "."};
}

// What a request needs to know of the current device: the one that the stream belongs to.
struct CurrentDevice {
    Limits limits;
    std::string name;
};

// Reading the name takes far longer than a call: each device is read once. cudaErrorX where it cannot be read.
cudaError_t read_device(CurrentDevice& current) {
    static std::mutex mutex;
    static std::map<int, CurrentDevice> known;
    const std::lock_guard lock(mutex);
    int device = 0;
    int shared = 0;
    cudaDeviceProp properties = {};
    cudaError_t status = cudaGetDevice(&device);
    if (const auto found = known.find(device); status == cudaSuccess && found != known.end()) {
        current = found->second;
        return status;
    }
    Limits& limits = current.limits;
    if (status == cudaSuccess) {
        status = cudaGetDeviceProperties(&properties, device);
    }
    if (status == cudaSuccess) {
        status = cudaDeviceGetAttribute(&limits.multiprocessors, cudaDevAttrMultiProcessorCount, device);
    }
    if (status == cudaSuccess) {
        status = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    limits.shared_bytes_per_block = shared;  // persisting_l2_bytes stays 0: nobody sets L2 aside for a framework
    if (status == cudaSuccess) {
        current.name = properties.name;
        limits.l2_bytes = properties.l2CacheSize;
        known[device] = current;
    }
    return status;
}

// The standard ones, but nothing is launched programmatically. A kernel that is reads gamma and the tables before the
// kernel before it has ended, and in XLA's stream that may be the one that makes them; and CUPTI's record of it would
// begin while it still waits.
Parameters parameters_in_xla(const Variant& variant) {
    Parameters parameters = variant.standard_parameters();
    if (const auto found = parameters.find("programmatic"); found != parameters.end()) {
        found->second = 0;
    }
    return parameters;
}

// With those parameters, or as the table that is built in tunes the others. Choosing takes longer than a launch: it is
// done once for each of the problems that asked() makes. Throws InputError where the table is damaged.
const Resolved& resolved(const Variant& variant, const Problem& p, const CurrentDevice& device) {
    using Key =
        std::tuple<const Variant*, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, DataType>;
    static std::mutex mutex;
    static std::map<Key, Resolved> known;
    const std::lock_guard lock(mutex);
    const Key key = {&variant, device.name, p.batch, p.sequence, p.heads, p.head_dim, p.dtype};
    auto found = known.find(key);
    if (found == known.end()) {
        found = known
                    .emplace(key, resolve(variant, parameters_in_xla(variant), p, device.limits, device.name,
                                          embedded_tuning(Backend::cuda)))
                    .first;
    }
    return found->second;
}

// Null where there is none.
const Variant* variant_called(std::string_view name) {
    const std::vector<Variant>& all = variants(Backend::cuda);
    const auto variant = std::find_if(all.begin(), all.end(), [&](const Variant& v) { return v.name == name; });
    return variant == all.end() ? nullptr : &*variant;
}

ffi::Error run(cudaStream_t stream, ffi::ScratchAllocator allocator, std::string_view name, ffi::AnyBuffer q,
               ffi::AnyBuffer gamma, ffi::AnyBuffer tables, ffi::Result<ffi::AnyBuffer> out) {
    const Variant* const variant = variant_called(name);
    if (variant == nullptr) {
        return refused(name, "there is no such variant; `qkprof list variants` shows which there are.");
    }
    const Asked wanted = asked(q, gamma, tables, *out);
    if (!wanted.fault.empty()) {
        return refused(name, wanted.fault);
    }
    CurrentDevice device;
    if (const cudaError_t status = read_device(device); status != cudaSuccess) {
        return ffi::Error::Internal(std::string("CUDA failed while reading the device's attributes: ") +
                                    cudaGetErrorString(status) + ".");
    }
    const Resolved* chosen = nullptr;
    try {
        chosen = &resolved(*variant, wanted.problem, device);
    } catch (const std::exception& error) {  // must not enter XLA
        return refused(name, error.what());
    }
    if (!chosen->refusal.empty()) {
        return refused(name, chosen->refusal + ".");
    }
    const Request& request = chosen->request;
    if (variant->persisting_bytes && variant->persisting_bytes(request) > 0) {
        return refused(name, "it needs L2 that is set aside for it, which XLA does not do.");
    }
    const std::int64_t scratch_bytes = variant->scratch_bytes ? variant->scratch_bytes(request) : 0;
    void* scratch = nullptr;
    if (scratch_bytes > 0) {
        // XLA grants no alignment above 16 bytes to a handler, and variants count on 256.
        constexpr std::size_t granted = 16;
        constexpr std::size_t alignment = 256;
        std::size_t room = static_cast<std::size_t>(scratch_bytes) + alignment;
        scratch = allocator.Allocate(room, granted).value_or(nullptr);
        if (scratch == nullptr || std::align(alignment, room - alignment, scratch, room) == nullptr) {
            return ffi::Error(ffi::ErrorCode::kResourceExhausted, "XLA gave no " + std::to_string(scratch_bytes) +
                                                                      " bytes of scratch memory to " +
                                                                      std::string(name) + ".");
        }
    }
    const auto* cos = static_cast<const std::byte*>(tables.untyped_data());
    const Buffers buffers = {.q = q.untyped_data(),
                             .q_out = out->untyped_data(),
                             .gamma_q = gamma.untyped_data(),
                             .cos = cos,
                             .sin = cos + request.problem.table_bytes(),
                             .scratch = scratch};
    try {
        variant->run({request, buffers, {stream}});
    } catch (const std::exception& error) {  // a LaunchError, or no memory: an exception must not enter XLA
        return ffi::Error::Internal(error.what());
    }
    return ffi::Error::Success();
}

// As JSON, {"heads": 4, "threads": 64}; {} where the variant does not run the problem here: the call says why.
std::string parameters_text(std::string_view name, Problem problem, std::string_view dtype) {
    const Variant* const variant = variant_called(name);
    CurrentDevice device;
    constexpr std::array types = {DataType::f32, DataType::bf16, DataType::f16};
    const auto type = std::find_if(types.begin(), types.end(), [&](DataType t) { return name_of(t) == dtype; });
    if (variant == nullptr || type == types.end() || read_device(device) != cudaSuccess) {
        return "{}";
    }
    problem.dtype = *type;
    if (!problem.fault().empty()) {
        return "{}";
    }
    const Resolved& chosen = resolved(*variant, problem, device);
    std::string text;
    if (chosen.refusal.empty()) {
        for (const auto& [parameter, value] : chosen.request.parameters) {
            text += (text.empty() ? "\"" : ", \"") + parameter + "\": " + std::to_string(value);
        }
    }
    return "{" + text + "}";
}

}  // namespace
}  // namespace qkprof

XLA_FFI_DEFINE_HANDLER_SYMBOL(qkprof_variant, qkprof::run,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::PlatformStream<cudaStream_t>>()
                                  .Ctx<xla::ffi::ScratchAllocator>()
                                  .Attr<std::string_view>("variant")
                                  .Arg<xla::ffi::AnyBuffer>()  // q
                                  .Arg<xla::ffi::AnyBuffer>()  // gamma
                                  .Arg<xla::ffi::AnyBuffer>()  // tables
                                  .Ret<xla::ffi::AnyBuffer>());

// The parameters with which the handler runs a problem in the plain form on the current device go to `text`, as JSON.
// Returns the bytes of it, with the zero at its end: where they are more than `capacity` nothing is written.
extern "C" std::size_t qkprof_parameters(const char* variant, std::int64_t batch, std::int64_t sequence,
                                         std::int64_t heads, std::int64_t head_dim, const char* dtype, char* text,
                                         std::size_t capacity) {
    std::string answer = "{}";
    try {
        answer = qkprof::parameters_text(
            variant, {.batch = batch, .sequence = sequence, .heads = heads, .head_dim = head_dim}, dtype);
    } catch (const std::exception&) {  // must not enter Python; the call says it
    }
    if (answer.size() < capacity) {
        std::copy_n(answer.c_str(), answer.size() + 1, text);
    }
    return answer.size() + 1;
}
