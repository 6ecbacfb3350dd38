#!/usr/bin/env bash
# Every command has --help with a purpose and at least two examples.
source "$(dirname "$0")/lib.sh" "$1"

commands=$("$hone" --help | sed -n '/^Subcommands:/,/^$/p' | awk 'NR > 1 && NF {print $1}')
count=0
for command in $commands; do
  help=$("$hone" "$command" --help)
  if grep -q '^Subcommands:' <<<"$help"; then
    for nested in $(sed -n '/^Subcommands:/,/^$/p' <<<"$help" | awk 'NR > 1 && NF {print $1}'); do
      nested_help=$("$hone" "$command" "$nested" --help)
      expect_contains "$nested_help" "Examples:"
      [[ $(grep -c "  hone $command $nested" <<<"$nested_help") -ge 2 ]] || fail "$command $nested: fewer than two examples"
    done
  else
    expect_contains "$help" "Examples:"
    [[ $(grep -cE "^  (hone $command|curl)" <<<"$help") -ge 2 ]] || fail "$command: fewer than two examples"
  fi
  count=$((count + 1))
done
[[ $count -ge 10 ]] || fail "only $count commands: $commands"
expect_contains "$("$hone" --version)" "hone "
echo "$count commands"
