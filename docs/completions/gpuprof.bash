# SPDX-License-Identifier: Apache-2.0
# bash completion for gpuprof, made by gpuprof-docs
_gpuprof() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]} options="" i
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "run attach capture status stop detach serve env report diff export doctor help --help --version" -- "$cur"))
    return
  fi
  case $command in
    run) options="-o --output -f --force --format --span-size --max-size --keep --all-processes --no-all-processes --summary-json --skip-first --wait --warmup --active --repeat -y --delay -d --duration --step --on-no-step --step-timeout -t --trace --record-shapes --no-record-shapes --with-stack --no-with-stack --with-modules --no-with-modules --profile-memory --no-profile-memory -r --rate --sampler --cuda-graph --buffer-size --max-overhead -w --wait-for --name --daemon --strict -q --quiet -v --verbose --armed --serve --serve-to-network -h --help" ;;
    attach) options="-o --output -f --force --format --span-size --max-size --keep --all-processes --no-all-processes --summary-json --skip-first --wait --warmup --active --repeat -y --delay -d --duration --step --on-no-step --step-timeout -t --trace --record-shapes --no-record-shapes --with-stack --no-with-stack --with-modules --no-with-modules --profile-memory --no-profile-memory -r --rate --sampler --cuda-graph --buffer-size --max-overhead --daemon -q --quiet -v --verbose -p --pid --children --stay --ignore-seccomp -h --help" ;;
    capture) options="-o --output -f --force --format --span-size --max-size --keep --all-processes --no-all-processes --summary-json --skip-first --wait --warmup --active --repeat -y --delay -d --duration --step --on-no-step --step-timeout -t --trace --record-shapes --no-record-shapes --with-stack --no-with-stack --with-modules --no-with-modules --profile-memory --no-profile-memory -r --rate --sampler --cuda-graph --buffer-size --max-overhead --daemon -q --quiet -v --verbose -p --pid --children --all -h --help" ;;
    status) options="--json -h --help" ;;
    stop) options="-p --pid --children --all -h --help" ;;
    detach) options="-p --pid --children --all -h --help" ;;
    serve) options="--max-size -t --trace --record-shapes --no-record-shapes --with-stack --no-with-stack --with-modules --no-with-modules --profile-memory --no-profile-memory -r --rate --sampler --cuda-graph --buffer-size --max-overhead --daemon -v --verbose --at --serve-to-network -p --pid --all -h --help" ;;
    env) options="--name --shell --json -h --help" ;;
    report) options="--html -f --force --by --sort-by --group-by-input-shape --group-by-stack --columns --row-limit --rank --step --advice-only --fail-on --csv -q --quiet -v --verbose --json -h --help" ;;
    diff) options="-f --force --html --fail-if --min-change --min-share --row-limit --rank -q --quiet -v --verbose --json -h --help" ;;
    export) options="-o --output -f --force --format -q --quiet -v --verbose -h --help" ;;
    doctor) options="--try -p --pid --json -h --help" ;;
    help) options="-h --help" ;;
  esac
  if [ "$command" = help ]; then
    COMPREPLY=($(compgen -W "run attach capture status stop detach serve env report diff export doctor help" -- "$cur"))
    return
  fi
  # From the program on, its own completion.
  if [ "$command" = run ]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      case ${COMP_WORDS[i]} in
        --) i=$((i + 1)); break ;;
        -o|--output|--format|--span-size|--max-size|--keep|--summary-json|--skip-first|--wait|--warmup|--active|--repeat|-y|--delay|-d|--duration|--step|--on-no-step|--step-timeout|-t|--trace|-r|--rate|--sampler|--cuda-graph|--buffer-size|--max-overhead|-w|--wait-for|--name|--daemon|--serve) i=$((i + 1)) ;;
        -*) ;;
        *) break ;;
      esac
    done
    if [ "$i" -lt "$COMP_CWORD" ] || [ "$prev" = -- ]; then
      if declare -F _command_offset >/dev/null; then
        _command_offset "$i"
      else
        COMPREPLY=($(compgen -f -- "$cur"))
      fi
      return
    fi
  fi
  case $prev in
    -o|--output) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --format) COMPREPLY=($(compgen -W "tensorboard kineto xplane tfevents perfetto pprof speedscope folded sqlite csv" -- "$cur")); return ;;
    --span-size) COMPREPLY=(); return ;;
    --max-size) COMPREPLY=(); return ;;
    --keep) COMPREPLY=($(compgen -W "all first: last:" -- "$cur")); return ;;
    --summary-json) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --skip-first) COMPREPLY=(); return ;;
    --wait) COMPREPLY=(); return ;;
    --warmup) COMPREPLY=(); return ;;
    --active) COMPREPLY=(); return ;;
    --repeat) COMPREPLY=(); return ;;
    -y|--delay) COMPREPLY=(); return ;;
    -d|--duration) COMPREPLY=(); return ;;
    --step) COMPREPLY=($(compgen -W "auto user loop loop: optimizer nvtx: kernel: none" -- "$cur")); return ;;
    --on-no-step) COMPREPLY=($(compgen -W "time none" -- "$cur")); return ;;
    --step-timeout) COMPREPLY=(); return ;;
    -t|--trace) COMPREPLY=($(compgen -W "cuda nvtx torch python native" -- "$cur")); return ;;
    -r|--rate) COMPREPLY=(); return ;;
    --sampler) COMPREPLY=($(compgen -W "auto perf cpu-timer tgkill" -- "$cur")); return ;;
    --cuda-graph) COMPREPLY=($(compgen -W "node graph" -- "$cur")); return ;;
    --buffer-size) COMPREPLY=(); return ;;
    --max-overhead) COMPREPLY=($(compgen -W "off" -- "$cur")); return ;;
    --html) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --by) COMPREPLY=($(compgen -W "operator kernel kernel-name memcpy memset api nvtx nccl sync thread module line site step memory gpu wall stretch" -- "$cur")); return ;;
    --sort-by) COMPREPLY=(); return ;;
    --group-by-stack) COMPREPLY=(); return ;;
    --columns) COMPREPLY=(); return ;;
    --row-limit) COMPREPLY=(); return ;;
    --rank) COMPREPLY=(); return ;;
    --fail-on) COMPREPLY=($(compgen -W "any data-loading loader-workers sync-in-loop pageable-copy host-code host-starved repeated-work allocation-churn tiny-kernels extra-backward gpu-idle launch-bound fp32-math memory-limit step-stalls between-steps first-step data-parallel communication slow-rank" -- "$cur")); return ;;
    --fail-if) COMPREPLY=(); return ;;
    --min-change) COMPREPLY=(); return ;;
    --min-share) COMPREPLY=(); return ;;
    -w|--wait-for) COMPREPLY=($(compgen -W "primary all" -- "$cur")); return ;;
    --name) COMPREPLY=(); return ;;
    --daemon) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --serve) COMPREPLY=(); return ;;
    --at) COMPREPLY=(); return ;;
    -p|--pid) COMPREPLY=(); return ;;
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;
    *)
      case $command in
        run) COMPREPLY=($(compgen -c -- "$cur")) ;;
        attach|capture|status|stop|detach|serve) COMPREPLY=($(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur")) ;;
        *)
          compopt -o filenames 2>/dev/null
          COMPREPLY=($(compgen -f -- "$cur")) ;;
      esac ;;
  esac
}
complete -F _gpuprof gpuprof
