// Which qkprof this is.
#pragma once

namespace qkprof {

const char* version();
// The commit it was built from, with -dirty where the tree held changes; "unknown" outside a git repository.
const char* commit();

}  // namespace qkprof
