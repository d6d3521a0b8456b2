#!/usr/bin/env bash
# The demo board: the embedded model and every reference model on every domain, capability and reliability.
# usage: board.sh ARENA   (resumes: finished runs are printed at once)
set -euo pipefail
arena=$1
models="sparrow-nano tfidf majority uniform random always-first constant always-none slot-biased"
for model in $models; do
  "$arena" eval --model "$model" --domain all --reliability --runs runs/board --json >/dev/null
done
"$arena" publish runs/board -o site/
echo "open site/index.html"
