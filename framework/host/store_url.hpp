// From the setting location.store to a Location Store.
#pragma once

#include <memory>
#include <string_view>

#include <spotmesh/error.hpp>

#include "location/store.hpp"

namespace spotmesh::host {

// "sqlite:FILE". InvalidOperation for another form, NotConfigured for none; else what the
// provider's open() gives.
Result<std::unique_ptr<location::LocationStore>> open_store(std::string_view url);

}  // namespace spotmesh::host
