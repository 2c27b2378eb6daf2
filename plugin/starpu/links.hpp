// Measures copies between host memory and the devices.
#pragma once

#include "starpu/view.hpp"

namespace poas::edge {

// Fills the links of view.machine.devices (each alone, two sizes) and host_link_bytes_per_s (all at
// once, both directions; 0 if that is no limit).  No other task may run.
void measure_links(View& view);

}  // namespace poas::edge
