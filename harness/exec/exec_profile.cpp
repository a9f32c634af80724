#include "exec_profile.h"

namespace qkprof::exec {

const char* name_of(TransferKind kind) {
    constexpr std::array names = {"copy host to device",
                                  "copy device to host",
                                  "copy device to device",
                                  "copy peer to peer",
                                  "copy host to host",
                                  "copy of another kind",
                                  "fill"};
    static_assert(names.size() == all_transfer_kinds.size());
    return names.at(static_cast<std::size_t>(kind));
}

std::string text_of(const RangeRow& range) {
    return range.domain.empty() ? range.name : range.domain + "@" + range.name;
}

}  // namespace qkprof::exec
