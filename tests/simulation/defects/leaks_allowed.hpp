// LeaksAllowed: where a planted defect may lose objects, and that is not the question.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMULATION_LOOKS_FOR_LEAKS 1
#include <sanitizer/lsan_interface.h>
#endif
#endif

namespace simulation {

// Two incarnations under one id, for example: the one that the registry has lost is never let go.
class LeaksAllowed {
#ifdef SIMULATION_LOOKS_FOR_LEAKS
  __lsan::ScopedDisabler disabler_;
#endif
};

}  // namespace simulation
