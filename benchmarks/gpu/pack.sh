#!/usr/bin/env bash
# Makes a checkout small enough for a machine that takes 60 MB, or restores it.
#   benchmarks/gpu/pack.sh liu2026 tiwari2026   keeps the records of these papers
#   benchmarks/gpu/pack.sh back                 puts everything back
set -eu
cd "$(git rev-parse --show-toplevel)"
if [ "${1:-}" = back ]; then
  git checkout -q -- .
  rm -rf .device
  git status --short | head
  exit
fi
[ $# -gt 0 ] || { echo "which papers? pack.sh liu2026 tiwari2026 | pack.sh back" >&2; exit 2; }
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo "commit first: this deletes files that git restores" >&2
  exit 1
fi
mkdir -p .device/data
git rev-parse --short=10 HEAD > .device/commit
for folder in data/records/*/; do
  case " $* " in
    *" $(basename "$folder") "*) ;;
    *) git ls-files -z "$folder" | xargs -0 -r rm -f ;;
  esac
done
git ls-files -z 'book/*.ipynb' '*.png' data/references tests book/_ext/static |
  xargs -0 rm -f
size=$(git ls-files -z --cached --others --exclude-standard |
  xargs -0 stat -c %s 2>/dev/null | awk '{s += $1} END {print s}')
echo "$((size / 1048576)) MiB are left, and .device"
[ "$size" -lt 62000000 ] || { echo "too much: keep fewer papers" >&2; exit 1; }
