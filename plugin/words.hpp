// Numbers with units, for people.
#pragma once

#include <string>

namespace poas::detail {

// "12 us", "3.4 ms", "1.20 s": three digits and the unit that keeps them readable.
std::string time_in_words(double seconds);
// "12.3 kJ", "4.50 J", likewise.
std::string energy_in_words(double joules);

}  // namespace poas::detail
