// CUPTI, opened when it is first needed: a machine without it still measures times.
#pragma once

#include <cupti.h>

#include <string>

namespace qkprof::cuda {

// The functions of CUPTI that are used, with the types of its headers.
struct CuptiLibrary {
    decltype(&cuptiGetVersion) get_version = nullptr;
    decltype(&cuptiGetErrorMessage) get_error_message = nullptr;
    decltype(&cuptiActivityRegisterCallbacks) activity_register_callbacks = nullptr;
    decltype(&cuptiActivityEnable) activity_enable = nullptr;
    decltype(&cuptiActivityDisable) activity_disable = nullptr;
    decltype(&cuptiActivityFlushAll) activity_flush_all = nullptr;
    decltype(&cuptiActivityGetNextRecord) activity_get_next_record = nullptr;
    decltype(&cuptiActivityGetNumDroppedRecords) activity_get_dropped = nullptr;
    decltype(&cuptiFinalize) finalize = nullptr;

    std::string path;     // the library's name as it was opened
    std::string failure;  // why it cannot be used, as a clause; then no function may be called
};

// The library of this process; opened by the first call and never closed.
const CuptiLibrary& cupti_library();

// "CUPTI failed while <doing>: <what it says> (error <number>)", with what to do where that is known.
std::string cupti_failure(CUptiResult result, const char* doing);

}  // namespace qkprof::cuda
