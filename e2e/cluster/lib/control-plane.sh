# To be sourced: etcd, API server, controller manager, scheduler and DNS, all in node 0.

# user NAME USER [GROUP]: adds a user, and writes its kubeconfig.
user() {
  local token
  token=$(openssl rand -hex 24)
  echo "$token,$2,$1,\"${3:-}\"" >>"$state/tokens.csv"
  cat >"$state/$1.kubeconfig" <<T
apiVersion: v1
kind: Config
clusters:
- name: boson
  cluster: {server: "https://$(node_ip 0):6443", certificate-authority-data: $(base64 -w0 "$state/certs/ca.crt")}
users:
- name: $1
  user: {token: $token}
contexts:
- name: boson
  context: {cluster: boson, user: $1}
current-context: boson
T
}

# The API server's certificates, and the authorities that pods, kubeconfigs and servers of APIServices know it by.
certificates() {
  local certs=$state/certs names ip
  ip=$(node_ip 0)
  names="IP:$ip,IP:127.0.0.1,IP:${service_network%.*}.1,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
  certificate ca -subj '/CN=boson test cluster' -addext 'keyUsage=critical,keyCertSign'
  certificate apiserver -subj '/CN=kube-apiserver' -CA "$certs/ca.crt" -CAkey "$certs/ca.key" \
    -addext 'basicConstraints=critical,CA:FALSE' -addext 'extendedKeyUsage=serverAuth' -addext "subjectAltName=$names"
  # By this certificate the servers of APIServices know that a request, and the user in its headers, comes from the API server.
  certificate front-proxy-ca -subj '/CN=boson test cluster front proxy' -addext 'keyUsage=critical,keyCertSign'
  certificate front-proxy -subj '/CN=front-proxy-client' -CA "$certs/front-proxy-ca.crt" -CAkey "$certs/front-proxy-ca.key" \
    -addext 'basicConstraints=critical,CA:FALSE' -addext 'extendedKeyUsage=clientAuth'
  openssl genrsa -out "$certs/sa.key" 2048 2>/dev/null
}

certificate() {
  local name=$1
  shift
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -keyout "$state/certs/$name.key" \
    -out "$state/certs/$name.crt" "$@" 2>>"$state/logs/openssl.log"
}

control_plane() {
  local ip i
  ip=$(node_ip 0)
  certificates
  user admin admin system:masters
  user controllers system:kube-controller-manager
  user scheduler system:kube-scheduler
  user proxy system:kube-proxy
  user dns system:dns
  user volumes system:volumes
  for i in "${!zones[@]}"; do user "node-$i" "system:node:node-$i" system:nodes; done

  # Its data is removed with the cluster: no flushing needed.
  start 0 etcd etcd --data-dir "$state/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
    --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
  start 0 apiserver "$bin/kube" apiserver --etcd-servers=http://127.0.0.1:2379 \
    --tls-cert-file="$state/certs/apiserver.crt" --tls-private-key-file="$state/certs/apiserver.key" \
    --advertise-address="$ip" --bind-address=0.0.0.0 --secure-port=6443 --service-cluster-ip-range="$service_network" \
    --service-account-issuer="https://kubernetes.default.svc.$domain" \
    --service-account-key-file="$state/certs/sa.key" --service-account-signing-key-file="$state/certs/sa.key" \
    --requestheader-client-ca-file="$state/certs/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy-client \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- --proxy-client-cert-file="$state/certs/front-proxy.crt" \
    --proxy-client-key-file="$state/certs/front-proxy.key" \
    --token-auth-file="$state/tokens.csv" --authorization-mode=Node,RBAC \
    --enable-admission-plugins=NodeRestriction --allow-privileged=true --kubelet-preferred-address-types=InternalIP
  until_true 120 "the API server" kubectl get --raw /readyz
  start 0 controllers "$bin/kube" controller-manager --kubeconfig="$state/controllers.kubeconfig" \
    --service-account-private-key-file="$state/certs/sa.key" --root-ca-file="$state/certs/ca.crt" \
    --use-service-account-credentials --leader-elect=false --bind-address=127.0.0.1 \
    --flex-volume-plugin-dir="$state/flexvolumes"
  start 0 scheduler "$bin/kube" scheduler --kubeconfig="$state/scheduler.kubeconfig" --leader-elect=false \
    --bind-address=127.0.0.1
  start 0 volumes "$bin/kube" volumes --kubeconfig="$state/volumes.kubeconfig" --directory="$state/volumes"
  names
  kubectl apply -f "$here/objects.yaml" >/dev/null
}

names() {
  cat >"$state/Corefile" <<T
.:53 {
  errors
  ready 127.0.0.1:8181
  kubernetes $domain in-addr.arpa {
    kubeconfig $state/dns.kubeconfig boson
    pods insecure
  }
}
T
  start 0 dns "$bin/dns" -conf "$state/Corefile" -quiet
}
