#include "version.h"

#include "build_info.h"

namespace qkprof {

const char* version() { return QKPROF_VERSION; }
const char* commit() { return QKPROF_COMMIT; }

}  // namespace qkprof
