// The metaschemas of all supported drafts, compiled into the program (metaschemas.json).
#pragma once

#include <optional>
#include <string>

#include "core/json/schema.h"

namespace hone {

// The draft that a "$schema" URI (without fragment) names; http and https are taken as the same.
std::optional<SchemaDraft> metaschema_draft(const std::string& uri);

// A metaschema or one of its vocabulary parts by its URI; null when there is none.
const Json* find_metaschema(const std::string& uri);

}  // namespace hone
