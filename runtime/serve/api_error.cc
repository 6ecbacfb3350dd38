#include "runtime/serve/api_error.h"

#include "core/json/json.h"

namespace hone {
namespace {

std::string type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 404) return "not_found_error";
  if (status == 429 || status == 503) return "overloaded_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

}  // namespace

ApiError::ApiError(int status, std::string message, std::string param, std::string code)
    : std::runtime_error(std::move(message)),
      status_(status),
      param_(std::move(param)),
      code_(std::move(code)) {}

std::string ApiError::body() const {
  Json error = Json::object();
  error["message"] = what();
  error["type"] = type_of(status_);
  error["param"] = param_.empty() ? Json(nullptr) : Json(param_);
  error["code"] = code_.empty() ? Json(nullptr) : Json(code_);
  return dump_json({{"error", error}});
}

HttpResponse ApiError::response() const {
  HttpResponse response;
  response.status = status_;
  response.body = body();
  if (status_ == 429 || status_ == 503) response.headers.emplace_back("Retry-After", "1");
  if (status_ == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace hone
