#!/usr/bin/env bash
# Installs the Debian 12 / Ubuntu 24.04 packages that building and testing Hone needs; without the
# rights to do so it prints the one command that does. Does nothing when all are there.
set -euo pipefail

packages=(
  # tools
  g++ cmake ninja-build make pkg-config git ccache clang-format clang-tidy curl ca-certificates
  # libraries, reasons in docs/dependencies.md
  libfmt-dev libspdlog-dev nlohmann-json3-dev libsimdjson-dev libssl-dev libeigen3-dev libhdf5-dev
  libcli11-dev libyaml-cpp-dev libboost-dev libopenblas-dev libpcre2-dev libutf8proc-dev
  libjs-chart.js
  # tests
  libgtest-dev libgmock-dev libbenchmark-dev
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if [[ $(id -u) -eq 0 ]]; then
  sudo=()
elif sudo -n true 2>/dev/null; then
  sudo=(sudo)
else
  echo "These packages are missing. Please run:" >&2
  echo "  sudo apt-get install -y ${missing[*]}" >&2
  exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
