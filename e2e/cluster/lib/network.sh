# To be sourced: the networks between this machine, the nodes and their pods.
#
# Node 0 routes for the others, and is the only one that this machine reaches. The network is closed: a pod reaches pods,
# services and nodes.

# The name of a cluster on this machine: that of its network link, which is unique.
name() { cat "$state/name"; }

node_ip() {
  if (($1 == 0)); then
    echo "$subnet.$(cat "$state/number").2"
  else
    echo "$pod_network.$((128 + $1)).2"
  fi
}

# The gateway of node I.
gateway() {
  local ip
  ip=$(node_ip "$1")
  echo "${ip%.*}.1"
}

pods() { echo "$pod_network.$1.0/24"; }

# Links node 0 to this machine with the first free name and network.
claim_link() {
  local number=0
  until ip link add "boson$number" type veth peer name eth0 netns "$(pid_of 0)" 2>/dev/null; do
    ((++number < 256)) || die "cannot make a network link: $(ip link add boson-try type veth peer name eth0 netns "$(pid_of 0)" 2>&1)"
  done
  echo "$number" >"$state/number"
  echo "boson$number" >"$state/name"
  ip address add "$(gateway 0)/24" dev "$(name)"
  ip link set "$(name)" up
}

# link I: links node I to node 0.
link() {
  local i=$1
  ip link add "to-$i" netns "$(pid_of 0)" type veth peer name eth0 netns "$(pid_of "$i")"
  in_node 0 ip address add "$(gateway "$i")/24" dev "to-$i"
  in_node 0 ip link set "to-$i" up
  in_node 0 ip route add "$(pods "$i")" via "$(node_ip "$i")"
}

network() {
  local i=$1
  if ((i == 0)); then claim_link; else link "$i"; fi
  in_node "$i" ip link set lo up
  in_node "$i" ip address add "$(node_ip "$i")/24" dev eth0
  connect "$i"
  in_node "$i" sysctl --quiet --write net.ipv4.ip_forward=1
  # So that a pod reaches itself through a service. Where the kernel has no such switch, bridges do what it says.
  in_node "$i" sysctl --quiet --ignore --write net.bridge.bridge-nf-call-iptables=1
}

# connect I: links node I to the others.
connect() {
  in_node "$1" ip link set eth0 up
  in_node "$1" ip route replace default via "$(gateway "$1")"
}

# cut_off I: the opposite.
cut_off() { in_node "$1" ip link set eth0 down; }

cut_link() {
  [[ ! -s $state/name ]] || ip link delete "$(name)" 2>/dev/null || true
}
