#include "runtime/text/tokenize/post_processor.h"

#include "core/base/error.h"

namespace hone {
namespace {

int32_t read_id(const Json& json, const std::string& where) {
  require_data(
      json.is_number_integer() && json >= 0 && json <= INT32_MAX,
      "{}: {} is no token id",
      where,
      dump_json(json)
  );
  return json.get<int32_t>();
}

PostProcessor read_template(const Json& json, const std::string& where) {
  require_data(
      json.contains("single") && json["single"].is_array(),
      "{}: field \"single\" must be a list",
      where
  );
  PostProcessor out;
  bool sequence = false;
  for (const Json& item : json["single"]) {
    require_data(item.is_object(), "{}: an element of \"single\" is no object", where);
    if (item.contains("Sequence")) {
      require_data(
          !sequence && json_string(item["Sequence"], "id", where) == "A",
          "{}: \"single\" must hold the sequence A once",
          where
      );
      sequence = true;
      continue;
    }
    require_data(
        item.contains("SpecialToken"),
        "{}: {} is neither Sequence nor SpecialToken",
        where,
        dump_json(item)
    );
    const std::string name = json_string(item["SpecialToken"], "id", where);
    require_data(
        json.contains("special_tokens") && json["special_tokens"].contains(name) &&
            json["special_tokens"][name].contains("ids") &&
            json["special_tokens"][name]["ids"].is_array(),
        "{}: special_tokens has no ids of {:?}",
        where,
        name
    );
    for (const Json& id : json["special_tokens"][name]["ids"]) {
      (sequence ? out.after : out.before).push_back(read_id(id, where));
    }
  }
  require_data(sequence, "{}: \"single\" must hold the sequence A once", where);
  return out;
}

// ["</s>", 2]
int32_t read_pair(const Json& json, const char* key, const std::string& where) {
  require_data(
      json.contains(key) && json[key].is_array() && json[key].size() == 2,
      "{}: \"{}\" must be [token, id]",
      where,
      key
  );
  return read_id(json[key][1], where);
}

}  // namespace

PostProcessor PostProcessor::read(const Json& json, const std::string& source) {
  if (json.is_null()) return {};
  const std::string type = json_string(json, "type", source + ": post_processor");
  const std::string where = source + ": post_processor " + type;
  if (type == "ByteLevel") return {};  // changes offsets only
  if (type == "TemplateProcessing") return read_template(json, where);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return {{read_pair(json, "cls", where)}, {read_pair(json, "sep", where)}};
  }
  require_data(
      type == "Sequence",
      "{} is not supported (TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing, "
      "Sequence are)",
      where
  );
  require_data(
      json.contains("processors") && json["processors"].is_array(),
      "{}: field \"processors\" must be a list",
      where
  );
  PostProcessor out;
  for (const Json& part : json["processors"]) {
    require_data(part.is_object(), "{}: an element is no object", where);
    const PostProcessor outer = read(part, source);
    out.before.insert(out.before.begin(), outer.before.begin(), outer.before.end());
    out.after.insert(out.after.end(), outer.after.begin(), outer.after.end());
  }
  return out;
}

}  // namespace hone
