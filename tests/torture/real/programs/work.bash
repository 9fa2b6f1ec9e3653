# SPDX-License-Identifier: Apache-2.0
# Computing in the shell itself: arithmetic, strings, arrays, patterns, sorting, recursion.
primes=()
for ((n = 2; ${#primes[@]} < 600; n++)); do
  for p in "${primes[@]}"; do
    if ((p * p > n)); then break; fi
    if ((n % p == 0)); then continue 2; fi
  done
  primes+=($n)
done
echo "${primes[-1]}"
fib() { if (($1 < 2)); then echo "$1"; else echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); fi; }
fib 11
declare -A words
while read -r -a line; do for w in "${line[@]}"; do ((words[$w]++)); done; done < <(
  for i in {1..400}; do echo "w$((i % 7)) w$((i * i % 11)) v$((i % 3))"; done)
for w in "${!words[@]}"; do echo "$w ${words[$w]}"; done | sort | md5sum
text=$(printf 'line %s\n' {1..500})
[[ $text =~ line\ (49[0-9]) ]] && echo "${BASH_REMATCH[1]}"
echo "${text//line/word}" | md5sum
printf '%s\n' {z..a} | sort | tr -d '\n'; echo
x=1; for i in {1..3000}; do x=$(((x * 1103515245 + 12345) % 2147483648)); done; echo $x
