// Ctrl-C and SIGTERM: a process-wide flag that long loops look at, so that they end between two
// pieces of work and every half-written output is removed by its destructor.
#pragma once

#include "core/base/error.h"

namespace hone {

// Thrown by throw_if_cancelled(). The command line prints how to resume and exits with
// 128 + cancel_signal().
class Cancelled : public Error {
 public:
  using Error::Error;
};

// SIGINT and SIGTERM set the flag; the second one ends the process at once, as without a handler.
// Blocking system calls return EINTR.
void install_signal_handlers();

[[nodiscard]] bool cancelled() noexcept;
// The signal that set the flag; 0 when none did.
[[nodiscard]] int cancel_signal() noexcept;
// Throws Cancelled when the flag is set. Cheap enough for every token, row slab and request.
void throw_if_cancelled();

// Sets the flag without a signal (a server's shutdown, tests).
void request_cancel() noexcept;
// Clears the flag (an interactive session goes on after an interrupted answer).
void reset_cancel() noexcept;

}  // namespace hone
