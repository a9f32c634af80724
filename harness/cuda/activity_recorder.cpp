#include "activity_recorder.h"

#include "cupti_library.h"

#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <utility>

namespace qkprof::cuda {
namespace {

constexpr std::size_t buffer_bytes = 1U << 20U;
constexpr std::size_t buffer_alignment = 64;  // CUPTI asks for 8
constexpr std::initializer_list<CUpti_ActivityKind> recorded_kinds = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

// What CUPTI's callbacks, which carry no pointer of ours, write to; they may come from a thread of CUPTI's.
struct Collected {
    std::mutex mutex;
    Activities activities;
};
Collected& collected() {
    static Collected instance;
    return instance;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
    *size = *buffer == nullptr ? 0 : buffer_bytes;
    *max_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
    const CuptiLibrary& cupti = cupti_library();
    const std::lock_guard lock(collected().mutex);
    Activities& activities = collected().activities;
    CUpti_Activity* record = nullptr;
    CUptiResult result = CUPTI_SUCCESS;
    while (valid_bytes > 0 &&
           (result = cupti.activity.get_next_record(buffer, valid_bytes, &record)) == CUPTI_SUCCESS) {
        add_record(*record, activities);
    }
    if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_MAX_LIMIT_REACHED) {
        activities.failure = cupti_failure(result, "reading activity records");
    }
    std::size_t dropped = 0;
    result = cupti.activity.get_dropped(nullptr, 0, &dropped);
    if (result != CUPTI_SUCCESS) {
        activities.failure = cupti_failure(result, "asking for dropped records");
    }
    activities.dropped += dropped;
    std::free(buffer);
}

// The records are on while this lives; `failure` says why they are not.
class Recording {
  public:
    Recording() {
        for (const CUpti_ActivityKind kind : recorded_kinds) {
            if (const CUptiResult result = cupti_library().activity.enable(kind); result != CUPTI_SUCCESS) {
                failure_ = cupti_failure(result, "switching activity records on");
                return;
            }
        }
    }
    ~Recording() {
        for (const CUpti_ActivityKind kind : recorded_kinds) {
            cupti_library().activity.disable(kind);
        }
    }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    const std::string& failure() const { return failure_; }

  private:
    std::string failure_;
};

// Why the records of finished work could not be had; empty if they were handed over.
std::string flush() {
    // First what is complete; then the rest by force, so that a record without times is seen and not waited for.
    for (const std::uint32_t flag : {0U, static_cast<std::uint32_t>(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)}) {
        if (const CUptiResult result = cupti_library().activity.flush_all(flag); result != CUPTI_SUCCESS) {
            return cupti_failure(result, "handing over activity records");
        }
    }
    return {};
}

Activities take_collected() {
    const std::lock_guard lock(collected().mutex);
    return std::exchange(collected().activities, {});
}

Activities failed(std::string reason) {
    Activities activities;
    activities.failure = std::move(reason);
    return activities;
}

}  // namespace

ActivityRecorder::~ActivityRecorder() {
    if (cupti_library().failure.empty()) {
        cupti_library().finalize();
    }
}

Activities ActivityRecorder::record(const std::function<void()>& work) const {
    const CuptiLibrary& cupti = cupti_library();
    if (!cupti.failure.empty()) {
        return failed(cupti.failure);
    }
    const CUptiResult registered = cupti.activity.register_callbacks(give_buffer, take_buffer);
    if (registered != CUPTI_SUCCESS) {
        return failed(cupti_failure(registered, "registering for activity records"));
    }
    const Recording recording;
    if (!recording.failure().empty()) {
        return failed(recording.failure());
    }
    try {
        work();
    } catch (...) {
        flush();
        take_collected();  // so that the next stretch does not find these records among its own
        throw;
    }
    if (std::string failure = flush(); !failure.empty()) {
        return failed(std::move(failure));
    }
    return take_collected();
}

void add_record(const CUpti_Activity& record, Activities& activities) {
    switch (record.kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
            const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
            KernelRecord plain;
            plain.name = kernel.name == nullptr ? "" : kernel.name;
            plain.start = kernel.start;
            plain.end = kernel.end;
            plain.grid = {kernel.gridX, kernel.gridY, kernel.gridZ};
            plain.block = {kernel.blockX, kernel.blockY, kernel.blockZ};
            plain.registers = kernel.registersPerThread;
            plain.local_bytes = kernel.localMemoryPerThread;
            plain.static_shared = kernel.staticSharedMemory;
            plain.dynamic_shared = kernel.dynamicSharedMemory;
            plain.submission = kernel.correlationId;
            plain.graph = kernel.graphId;
            plain.stream = kernel.streamId;
            activities.kernels.push_back(std::move(plain));
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMCPY: {
            const auto& transfer = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
            activities.transfers.push_back({TransferRecord::Kind::copy, transfer.start, transfer.end,
                                            static_cast<std::int64_t>(transfer.bytes), transfer.correlationId});
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMSET: {
            const auto& transfer = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
            activities.transfers.push_back({TransferRecord::Kind::fill, transfer.start, transfer.end,
                                            static_cast<std::int64_t>(transfer.bytes), transfer.correlationId});
            break;
        }
        default:
            break;
    }
}

}  // namespace qkprof::cuda
