# To be sourced: paths, and functions of all parts.

# Everything of one cluster; `down` removes it.
state=${CLUSTER_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/boson-cluster}
# The file that marks the directory of a cluster.
mark=.boson-cluster
# The cache of built executables, by the content of their inputs.
cache=${CLUSTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/boson-build/cluster}
# A node for each word; nodes may share a zone.
read -ra zones <<<"${CLUSTER_ZONES:-z1 z2}"
# The first two numbers of the networks between this machine and its clusters.
subnet=${CLUSTER_SUBNET:-10.203}

admin=$state/admin.kubeconfig

# Where pods and services have their addresses, inside the cluster only.
pod_network=10.244
service_network=10.96.0.0/16
domain=cluster.local

say() { printf 'cluster: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit 1
}

# until_true SECONDS WHAT COMMAND...: waits for the command to succeed, and reports WHAT if it does not.
until_true() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= end)); then
      last_words
      die "$what: not after all this time; the logs are in $state/logs"
    fi
    sleep 0.1
  done
}

# The ends of all logs: the files are removed with the cluster.
last_words() {
  tail -n 8 "$state"/logs/*.log >&2 || true
}

kubectl() { "$bin/kubectl" --kubeconfig "$admin" "$@"; }
