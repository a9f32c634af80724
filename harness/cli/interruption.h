// A signal ends a command that measures at its next step; the second ends the program.
#pragma once

namespace qkprof::cli {

// From now on the first SIGINT, SIGTERM or, unless it is ignored, SIGHUP is what interrupted() says.
void end_on_signals();
bool interrupted();

}  // namespace qkprof::cli
