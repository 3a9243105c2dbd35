# To be sourced: a node is a process that holds namespaces. All that runs in the node ends with it.

# hold I: makes node I's namespaces.
#
# Not `ip netns exec`: it mounts a fresh /sys, which hides the cgroups from kubelet.
hold() {
  local i=$1 dir=$state/node-$1 launcher
  mkdir -p "$dir"
  setsid unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc "$bin/pause" \
    </dev/null >/dev/null 2>&1 &
  launcher=$!
  until_true 10 "node $i's process" pgrep --parent "$launcher" --exact pause
  pgrep --parent "$launcher" --exact pause >"$state/nodes/$i"
  # Its id may be another process's later.
  started "$(pid_of "$i")" >>"$state/nodes/$i"
  own_directories "$i"
}

# When a process was started, as the kernel counts.
started() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # The second word, the name, may have blanks in it.
  read -ra stat <<<"${stat##*) }"
  echo "${stat[19]}"
}

pid_of() { head -n 1 "$state/nodes/$1"; }

# Whether node I's process is still the one that was started.
holds() {
  [[ -s $state/nodes/$1 && $(started "$(pid_of "$1")") == "$(tail -n 1 "$state/nodes/$1")" ]]
}

# in_node I COMMAND...: runs it inside node I.
in_node() {
  local i=$1
  shift
  nsenter --target "$(pid_of "$i")" --net --mount --pid "$@"
}

# start I NAME COMMAND...: a process of node I in the background, its log among the others.
start() {
  local i=$1 name=$2
  shift 2
  in_node "$i" setsid "$@" </dev/null >>"$state/logs/$name.log" 2>&1 &
}

# Directories in which kubelet, containerd and the network plugins write without being asked: a node has its own.
# What of this machine lies below one of them and is needed stays visible.
own_directories() {
  local i=$1 place own needed
  for place in /run /tmp /var/lib /var/log; do
    own=$state/node-$i/own$place
    mkdir -p "$own"
    for needed in "$state" "$bin"; do
      [[ $needed == "$place"/* ]] || continue
      mkdir -p "$own${needed#"$place"}"
      in_node "$i" mount --bind "$needed" "$own${needed#"$place"}"
    done
    in_node "$i" mount --rbind "$own" "$place"
  done
  chmod 1777 "$state/node-$i/own/tmp"
  in_node "$i" mkdir -p /run/netns
}

# release I: ends node I with all its processes at once, like a power cut. Its files are kept.
release() {
  local i=$1 cgroup
  if holds "$i"; then
    kill -KILL "$(pid_of "$i")"
    until_true 60 "node $i's end" is_released "$i"
  fi
  rm -f "$state/nodes/$i"
  for cgroup in $(cgroups "$i"); do
    [[ ! -d $cgroup ]] || until_true 30 "the end of $cgroup" remove_cgroup "$cgroup"
  done
}

is_released() { ! holds "$1"; }

# The cgroups of node I: one of each controller (version 1), or one (version 2).
cgroups() {
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    echo "/sys/fs/cgroup/$(name)-$1"
  else
    local controller
    for controller in /sys/fs/cgroup/*/; do
      [[ -L ${controller%/} ]] || echo "$controller$(name)-$1"
    done
  fi
}

remove_cgroup() {
  find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
  [[ ! -d $1 ]]
}
