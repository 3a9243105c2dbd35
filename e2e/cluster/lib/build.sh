# To be sourced: builds from Go modules the executables that distributions do not have in a suitable version.

# The directory of the executables; its name is a digest of everything that they are built from.
bin=$cache/$(cd "$here" && cat go.mod go.sum kube/*.go kubectl/*.go volumes/*.go dns/go.mod dns/go.sum dns/*.go pause.c | sha256sum | cut -c1-16)
kubernetes=$(sed -n 's/^.*k8s.io\/kubernetes v\([0-9.]*\)$/\1/p' "$here/go.mod")

# The oldest Go that go.mod accepts.
go_version=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$here/go.mod")

# Reports everything that this machine lacks.
requirements() {
  local packages=() tool
  for tool in etcd:etcd-server containerd:containerd runc:runc iptables:iptables conntrack:conntrack ip:iproute2 \
    openssl:openssl gcc:gcc nsenter:util-linux pgrep:procps; do
    command -v "${tool%%:*}" >/dev/null || packages+=("${tool#*:}")
  done
  [[ -x $cni/bridge ]] || packages+=(containernetworking-plugins)
  [[ ${#packages[@]} == 0 ]] || say "missing (Debian): apt-get install --no-install-recommends ${packages[*]}"
  local missing=${#packages[@]}
  if [[ ! -x $bin/kube ]] && ! go_will_do; then
    say "Go $go_version or newer is needed, once, to build Kubernetes; $(go version 2>/dev/null || echo 'Go is not installed')." \
      "Debian 12's is older: take it from https://go.dev/dl"
    missing=1
  fi
  if ((EUID != 0)); then
    say "needs root: it makes network namespaces, cgroups and containers"
    missing=1
  fi
  ((missing == 0)) || exit 1
}

go_will_do() {
  local have
  have=$(go env GOVERSION 2>/dev/null) || return 1
  printf '%s\n' "$go_version" "${have#go}" | sort --version-sort --check=quiet
}

# Builds what is not in the cache. Two builds at the same time do not disturb each other.
build() {
  if [[ -x $bin/kube ]]; then
    # It is in use: see below.
    touch "$bin"
    return
  fi
  mkdir -p "$cache"
  (
    flock 9
    [[ ! -x $bin/kube ]] || return 0
    say "building Kubernetes $kubernetes from its Go modules: about 5 minutes on two processors, once"
    local part=$bin.part
    rm -rf "$part"
    mkdir -p "$part"
    local stamp=k8s.io/component-base/version minor=${kubernetes#*.}
    compile "$here" -o "$part/" -ldflags "-s -w -X $stamp.gitVersion=v$kubernetes -X $stamp.gitMajor=${kubernetes%%.*} \
      -X $stamp.gitMinor=${minor%%.*}" ./kube ./kubectl
    compile "$here/dns" -o "$part/" -ldflags '-s -w' .
    gcc -Os -static -s -o "$part/pause" "$here/pause.c"
    mv "$part" "$bin"
    # Removes executables with which no cluster was started for a month.
    find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
  ) 9>"$cache/lock"
}

compile() {
  local module=$1
  shift
  (cd "$module" && CGO_ENABLED=0 GOFLAGS=-mod=readonly nice -n 10 go build -trimpath "$@")
}
