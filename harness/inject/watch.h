// What CUPTI tells of this process: each call that submits work, and the record of each kernel, copy and fill.
#pragma once

namespace qkprof::inject {

// Attaches CUPTI; where that fails the reason is sent, and the program runs on unwatched. Once a process.
void watch();

// Sends the records of all work that has ended; of a process that does not watch, nothing. With `last`, of all that
// there is, and the end of it: after that nothing is sent.
void hand_over(bool last);

}  // namespace qkprof::inject
