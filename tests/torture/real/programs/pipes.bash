# SPDX-License-Identifier: Apache-2.0
# Pipes, descriptors, here-documents, co-processes and process substitution.
set -o pipefail
seq 1 20000 | sort -r | head -n 3; echo "statuses ${PIPESTATUS[*]}"
yes | head -n 2 >/dev/null; echo "cut off: $?"
exec {spare}<&0; echo "descriptor $spare"; exec {spare}<&-
for n in 3 4 5 6 7 8 9; do eval "exec $n>/dev/null" && eval "exec $n>&-"; done
exec 3< <(seq 5); read -r -u 3 line; echo "line $line"; exec 3<&-
ls /proc/self/fd | wc -l
coproc BACK { while read -r x; do echo "got $((x * x))"; done; }
for n in 2 3 4; do echo $n >&"${BACK[1]}"; read -r -u "${BACK[0]}" answer; echo "$answer"; done
input=${BACK[1]}; exec {input}>&-; wait "$BACK_PID"; echo "back: $?"
diff <(seq 1 100) <(seq 1 2 200) | wc -l
tee >(wc -c >counted) <<<"$(seq 500)" | md5sum; sleep 0.2; cat counted
read -r -t 0.05 x < <(sleep 0.3); echo "in time: $(( $? > 128 ))"
cat <<-END | tr a-z A-Z
	here $((6 * 7))
	END
mkfifo way; (seq 3 >way &) ; cat way
printf '%s\0' a 'b c' d | xargs -0 -n 1 -P 1 echo item
for i in {1..100}; do echo "$i" | cat | cat; done | md5sum
ulimit -n 12; (exec 11</dev/null && echo "11 is free"); (exec 12</dev/null) 2>/dev/null || echo "12 is too much"
