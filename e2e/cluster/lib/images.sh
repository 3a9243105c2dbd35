# To be sourced: images are loaded onto nodes from archives, without a registry.

# The image of a pod's first process.
pause=boson.local/pause:1

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

# Writes the archive of the pause image.
pause_image() {
  local dir=$state/pause layer
  mkdir -p "$dir/root"
  cp "$bin/pause" "$dir/root/"
  tar -C "$dir/root" -cf "$dir/layer.tar" pause
  layer=$(sha256sum "$dir/layer.tar" | cut -d' ' -f1)
  printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/pause"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$(architecture)" "$layer" >"$dir/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$pause" >"$dir/manifest.json"
  tar -C "$dir" -cf "$state/pause.tar" manifest.json config.json layer.tar
}

# This machine's architecture, as images name it.
architecture() {
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
  esac
}
