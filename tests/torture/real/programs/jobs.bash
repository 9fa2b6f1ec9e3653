# SPDX-License-Identifier: Apache-2.0
# Job control: stopping, going on, waiting for one, for any, for none.
set -m
sleep 30 &
one=$!
kill -STOP $one
until [ "$(ps -o stat= -p $one | cut -c1)" = T ]; do :; done
jobs | sed 's/[0-9]* sleep/sleep/'
kill -CONT $one
until [ "$(ps -o stat= -p $one | cut -c1)" = S ]; do :; done
jobs -r | wc -l
kill $one
wait $one
echo "ended with $?"
(exit 11) & (exit 11) &
wait -n; echo "first: $?"
wait -n; echo "second: $?"
wait -n; echo "nothing left: $?"
sleep 0.02 | cat &
wait %%; echo "pipeline: $?"
for status in 0 1 2 126 255; do
  (exit $status) &
  wait $!
  printf '%s ' $?
done
echo
set +m
for n in {1..30}; do (exit $n) & pids+=($!); done
sum=0
for pid in "${pids[@]}"; do wait $pid; sum=$((sum + $?)); done
echo "sum $sum"
trap 'echo told while waiting' USR2
(sleep 0.1; kill -USR2 $$) &
helper=$!
wait $helper; echo "wait broken off: $(( $? > 128 ))"
