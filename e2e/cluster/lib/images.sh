# To be sourced: images are loaded onto nodes from archives, without a registry.

# The image of a pod's first process.
pause=boson.local/pause:1
# The image of the CoreDNS that answers the DNS aliases of a deployment.
dns=boson.local/dns:1

# import I ARCHIVE
import() {
  ctr --address "$state/node-$1/containerd.sock" --namespace k8s.io images import "$2"
}

# load ARCHIVE...: docker's or OCI's archives, onto every node.
load() {
  local archive i
  for archive; do
    [[ -r $archive ]] || die "cannot read $archive"
    for i in "${!zones[@]}"; do
      ! holds "$i" || import "$i" "$archive"
    done
  done
}

# Writes the archives of the pause image and of CoreDNS.
own_images() {
  own_image pause "$pause"
  own_image dns "$dns"
}

# own_image EXECUTABLE NAME: writes the archive of an image that has one executable of the cluster's.
own_image() {
  local dir=$state/$1-image layer
  mkdir -p "$dir/root"
  cp "$bin/$1" "$dir/root/"
  tar -C "$dir/root" -cf "$dir/layer.tar" "$1"
  layer=$(sha256sum "$dir/layer.tar" | cut -d' ' -f1)
  printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/%s"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$(architecture)" "$1" "$layer" >"$dir/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$2" >"$dir/manifest.json"
  tar -C "$dir" -cf "$state/$1.tar" manifest.json config.json layer.tar
}

# This machine's architecture, as images name it.
architecture() {
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
  esac
}
