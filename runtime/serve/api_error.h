// Errors as OpenAI clients expect them.
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/serve/http.h"

namespace hone {

// A request that is answered with an error. Thrown while a request is read, turned into a response
// by the service.
class ApiError : public std::runtime_error {
 public:
  // `param` names the offending field ("messages[0].role"); empty: none.
  ApiError(int status, std::string message, std::string param = "", std::string code = "");

  [[nodiscard]] int status() const { return status_; }
  // {"error": {"message", "type", "param", "code"}}
  [[nodiscard]] HttpResponse response() const;
  // The "error" object alone, for the middle of a stream.
  [[nodiscard]] std::string body() const;

 private:
  int status_;
  std::string param_;
  std::string code_;
};

}  // namespace hone
