// From the setting location.store to a Location Store.
#pragma once

#include <memory>

#include <spotmesh/error.hpp>

#include "base/log.hpp"
#include "host/host_settings.hpp"
#include "location/store.hpp"

namespace spotmesh::host {

// "sqlite:FILE", "redis://…" or "redis+sentinel://…". InvalidOperation for another form,
// NotConfigured for none; else what the provider's open() gives. `log` outlives the store.
Result<std::unique_ptr<location::LocationStore>> open_store(const LocationSettings& settings,
                                                            LogSink& log);

}  // namespace spotmesh::host
