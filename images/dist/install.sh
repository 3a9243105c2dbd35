#!/bin/sh
# Installs boson from a mirror: sh install.sh --from URL-OR-DIRECTORY [--to PREFIX] [--key PUBLIC-KEY]
#
# Verifies the tarball against SHA256SUMS, and these against the signature if a key of minisign is given, before anything is
# written. Needs no root: PREFIX is ~/.local by default. `--uninstall [--to PREFIX]` removes just what was installed.
set -eu

usage() {
  cat <<'EOF'
usage: sh install.sh --from URL-OR-DIRECTORY [--to PREFIX] [--key PUBLIC-KEY]
       sh install.sh --check [--to PREFIX]
       sh install.sh --uninstall [--to PREFIX]

  --from URL-OR-DIRECTORY  where the files of a release are: https://..., or a directory
  --to PREFIX              where bin/ and share/ are [default: ~/.local]
  --key PUBLIC-KEY         the key of minisign (the line that begins with RW) that must have signed the sums
  --check                  compare the installed files with what was installed
  --uninstall              remove what was installed
EOF
}
fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

from='' to=${HOME:-/root}/.local key='' verb=install
while [ $# -gt 0 ]; do
  case $1 in
    --from | --to | --key)
      [ $# -gt 1 ] || fail "$1 needs a value"
      case $1 in --from) from=$2 ;; --to) to=$2 ;; --key) key=$2 ;; esac
      shift
      ;;
    --check) verb=check ;;
    --uninstall) verb=uninstall ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

# What was installed: sums of the files; beside it, the links. Both are files of the release.
record=$to/share/boson/installed

installed() {
  [ -f "$record" ] || fail "boson is not installed below $to"
}
check() {
  installed
  (cd "$to" && sha256sum --check --quiet share/boson/installed) || fail "files below $to differ from what was installed: install again"
  echo "boson below $to is as it was installed"
}
uninstall() {
  installed
  (
    cd "$to"
    paths=$(cut -c67- share/boson/installed && sed 's/ -> .*//' share/boson/links && echo share/boson/installed)
    printf '%s\n' "$paths" | while read -r path; do rm -f -- "$path"; done
    # Only what is empty now.
    printf '%s\n' "$paths" | sed 's|/[^/]*$||' | sort -u | while read -r path; do rmdir -p -- "$path" 2>/dev/null || true; done
  )
  echo "removed boson below $to"
}

# fetch NAME: one file of the release into the current directory.
fetch() {
  case $from in
    https://* | http://127.0.0.1:* | http://localhost:*)
      if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$1" "$from/$1" || fail "cannot fetch $from/$1"
      elif command -v wget >/dev/null; then
        wget --quiet --output-document "$1" "$from/$1" || fail "cannot fetch $from/$1"
      else
        fail 'there is neither curl nor wget'
      fi
      ;;
    *://*) fail "$from: only https is fetched from" ;;
    *) cp -- "$from/$1" "$1" 2>/dev/null || fail "there is no $from/$1" ;;
  esac
}

install_release() {
  [ -n "$from" ] || { usage >&2 && exit 2; }
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) machine=linux-amd64 ;;
    Linux-aarch64) machine=linux-arm64 ;;
    *) fail "boson runs on Linux, and is not built for $(uname -s) on $(uname -m)" ;;
  esac
  case $from in *://*) ;; *) from=$(cd "$from" 2>/dev/null && pwd) || fail "--from: the directory does not exist" ;; esac
  work=$(mktemp -d "${TMPDIR:-/tmp}/boson-install.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  cd "$work"

  fetch SHA256SUMS
  if [ -n "$key" ]; then
    command -v minisign >/dev/null || fail 'there is no minisign to verify the signature with'
    fetch SHA256SUMS.minisig
    minisign -V -q -P "$key" -m SHA256SUMS -x SHA256SUMS.minisig || fail 'the signature of SHA256SUMS is wrong: nothing was installed'
  fi
  line=$(grep -E "^[0-9a-f]{64}  boson-[^ /]*-$machine\.tar\.gz\$" SHA256SUMS) || fail "the release has no files for $machine"
  tarball=$(printf '%s\n' "$line" | cut -c67-)
  fetch "$tarball"
  printf '%s\n' "$line" | sha256sum --check --quiet - >/dev/null 2>&1 ||
    fail "$tarball is not the file that SHA256SUMS names: nothing was installed"
  tar -xzf "$tarball" || fail "$tarball cannot be unpacked"
  cd "${tarball%.tar.gz}"
  "./bin/boson" --version >/dev/null || fail 'the executable does not run here: nothing was installed'

  # Beside the old files first, where there may be no space: then each is renamed into place, because it may be running.
  mkdir -p "$to"
  new=$to/.boson-installing
  trap 'rm -rf "$work" "$new"' EXIT
  rm -rf "$new"
  cp -R -P . "$new" || fail "cannot write below $to"
  [ ! -f "$record" ] || uninstall >/dev/null
  (cd "$new" && find bin share -type d) | while read -r path; do mkdir -p "$to/$path"; done
  (cd "$new" && find bin share ! -type d) | while read -r path; do mv -f "$new/$path" "$to/$path"; done
  echo "installed $("$to/bin/boson" --version | head -n 1) below $to"
  case :$PATH: in
    *":$to/bin:"*) ;;
    *) echo "hint: add $to/bin to PATH" ;;
  esac
}

case $verb in
  check) check ;;
  uninstall) uninstall ;;
  install) install_release ;;
esac
