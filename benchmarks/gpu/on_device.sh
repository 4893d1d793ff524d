# One call on a GPU machine. Arguments: seconds in all, then names of experiments.
#   bash benchmarks/gpu/on_device.sh 540 liu2026/fig07 tiwari2026/tab09
# First: does the learner run there, captured, and agree with a CPU? Then how fast is it.
# Then records, arms with the fewest seeds first. Results go to $OUT; records do so every
# minute, so that a call that is killed loses a minute. DEVICE=cpu rehearses it.
set -o pipefail
budget=$1; shift
began=$(date +%s)
device=${DEVICE:-cuda}
left() { echo $((budget - ($(date +%s) - began))); }
at_most() { echo $(($1 < $2 ? $1 : $2)); }
export PYTHONPATH=$PWD/src PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4 GROKBOOK_PROGRESS=no
export GROKBOOK_HOME=$PWD GROKBOOK_DATA=$PWD/.device/data
export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9  # no network
GROKBOOK_COMMIT=$(cat .device/commit) || exit 2
export GROKBOOK_COMMIT
mkdir -p "$GROKBOOK_DATA" "$OUT"
python3 -c "import torch; print('torch', torch.__version__, torch.cuda.is_available())"

seconds=$(at_most 130 $((budget / 4)))
timeout $((seconds + 30)) python3 benchmarks/gpu/check.py "$device" "$seconds" 2>&1 |
  tee "$OUT/check.txt" | cut -c1-220
timeout 30 python3 benchmarks/gpu/scores.py "$device" 2>&1 | tee "$OUT/scores.txt"
if [ "$device" = cuda ]; then
  timeout 90 python3 benchmarks/benchmark.py --device cuda --rounds 2 --epochs 5 \
    --seconds 60 2>&1 | tee "$OUT/benchmark.txt" | tail -40
fi

touch .device/began
save() {
  find data/records -type f -newer .device/began ! -path '*/.*' > .device/new
  [ -s .device/new ] || return 0
  tar cf - -T .device/new | split -b 15M - .device/records.tar.
  mv .device/records.tar.* "$OUT"  # each is there as a whole or not at all
}
(while sleep 60; do save; done) &
saver=$!
python3 -m claimbook run "$@" --scale "${SCALE:-paper}" --device "$device" --record \
  --time-budget $(($(left) - 25)) 2>&1 | tee "$OUT/run.txt" | tail -20
kill $saver
save
echo "$(wc -l < .device/new) files of records in \$OUT"
