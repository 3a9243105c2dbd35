# To be sourced: containerd, kubelet and kube-proxy of one node.
#
# They work where this machine is itself a container or a small virtual machine: without CAP_SYS_RESOURCE
# (KubeletInUserNamespace, restrict_oom_score_adj).

# Where Debian has the network plugins.
cni=/usr/lib/cni

node() {
  local i=$1 dir=$state/node-$1
  mkdir -p "$dir"/{containerd,run,kubelet,cni,pods}
  prepare_cgroups "$i"
  configure_containerd "$dir"
  configure_pods "$dir" "$(pods "$i")"
  configure_kubelet "$i" "$dir"
  start "$i" "containerd-$i" containerd -c "$dir/containerd.toml"
  until_true 60 "containerd of node $i" ctr --address "$dir/containerd.sock" version
  import "$i" "$state/pause.tar" >/dev/null
  import "$i" "$state/dns.tar" >/dev/null
  start "$i" "kubelet-$i" "$bin/kube" kubelet --kubeconfig="$state/node-$i.kubeconfig" --config="$dir/kubelet.yaml" \
    --root-dir="$dir/kubelet" --cert-dir="$dir/pki" --hostname-override="node-$i" --node-ip="$(node_ip "$i")" \
    --node-labels="topology.kubernetes.io/zone=${zones[$i]}"
  start "$i" "proxy-$i" "$bin/kube" proxy --kubeconfig="$state/proxy.kubeconfig" --cluster-cidr="$pod_network.0.0/16" \
    --hostname-override="node-$i" --proxy-mode=iptables --conntrack-max-per-core=0 \
    --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
}

# Version 1: a cgroup below the node's may not be used until it has processors and memory nodes.
prepare_cgroups() {
  local cgroup what
  for cgroup in $(cgroups "$1"); do
    mkdir -p "$cgroup"
    for what in cpuset.cpus cpuset.mems; do
      [[ ! -e $cgroup/$what || -e /sys/fs/cgroup/cgroup.controllers ]] || cat "${cgroup%/*}/$what" >"$cgroup/$what"
    done
  done
}

configure_containerd() {
  local dir=$1
  cat >"$dir/containerd.toml" <<T
version = 2
root = "$dir/containerd"
state = "$dir/run"
[grpc]
  address = "$dir/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$dir/opt"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  disable_apparmor = true
  sandbox_image = "$pause"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni"
    conf_dir = "$dir/cni"
T
}

configure_pods() {
  local dir=$1 pods=$2
  cat >"$dir/cni/10-pods.conflist" <<T
{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [
    {
      "type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
      "ipam": {
        "type": "host-local", "dataDir": "$dir/ipam",
        "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": "$pods"}]]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
T
}

# The kubelet accepts everybody, because only the cluster can reach it. A full disk of this machine does not evict pods.
configure_kubelet() {
  local i=$1 dir=$2
  echo 'nameserver 127.0.0.1' >"$dir/resolv.conf"
  cat >"$dir/kubelet.yaml" <<T
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /$(name)-$i
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
featureGates: {KubeletInUserNamespace: true}
clusterDNS: [$(node_ip 0)]
clusterDomain: $domain
resolvConf: $dir/resolv.conf
containerRuntimeEndpoint: unix://$dir/containerd.sock
podLogsDir: $dir/pods
volumePluginDir: $dir/flexvolumes
localStorageCapacityIsolation: false
evictionHard: {nodefs.available: "0%", imagefs.available: "0%", memory.available: "0%", nodefs.inodesFree: "0%"}
T
}
