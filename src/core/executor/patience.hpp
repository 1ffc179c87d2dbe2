// Tasks that are in no hurry.
#pragma once

namespace rudder {

/// From now on the calling task's waits for messages sleep at once, where others stay awake for a
/// while first. For tasks beside the critical path: awake, they take cores from those that compute.
void wait_patiently();

}  // namespace rudder
