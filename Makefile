# What one does with these sources; `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps build static images dist e2e demo test bench clippy lint fuzz repeat soak fmt review

export PATH := $(shell . .ci/rust && echo "$$PATH")
rustup_toolchain := $(shell . .ci/rust && echo "$${RUSTUP_TOOLCHAIN:-}")
ifneq ($(rustup_toolchain),)
export RUSTUP_TOOLCHAIN := $(rustup_toolchain)
endif

help: ## List what can be made
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name what; do printf 'make %-8s %s\n' "$$name" "$$what"; done

deps: ## Install the Debian packages that are missing (root), or say how
	@.ci/deps

build: deps ## Build the executables (target/release/boson, ...) and the links to them (render-files, brokerpak, kubectl-boson, ...)
	@BOSON_COMMIT=$$(.ci/commit) cargo build --release --locked -p boson -p boson-brokerpak -p boson-cloud -p boson-cluster -p boson-pod -p boson-templates
	@images/links "$${CARGO_TARGET_DIR:-target}/release"

static: ## Build the executables that ship, fully static, and the same links (target/static)
	@.ci/deps static
	@images/build

images: static ## Make the container images that ship (target/images)
	@.ci/deps images
	@images/pack

dist: images ## Make what is published of a release: tarball, .deb, .rpm, images, sums (VERSION=0.1.0, KEY=FILE to sign, URL=...)
	@.ci/deps dist
	@images/dist/build '$(VERSION)' $(if $(KEY),--key '$(KEY)') $(if $(URL),--url '$(URL)')

e2e: images ## Run the tests that need a Kubernetes cluster: that of $KUBECONFIG, else one made for them
	@e2e/run

demo: deps ## Run a NATS cluster of four nodes from a BOSH manifest and release, and prove that it works
	@e2e/demo

test: deps ## Run all tests that need no Kubernetes cluster, or those of one directory of crates/ (SUBJECT=nstance)
	@.ci/tests '$(SUBJECT)'

bench: build ## Measure the stages against plain Ruby, cp, tini and a bare exec (docs/benchmarks.md)
	@images/build boson-pod
	@cargo bench --locked -p e2e
	@if GOTOOLCHAIN=local go -C crates/nstance/go-template/tests/go list . >/dev/null 2>&1; then cargo bench --locked -p go-template --features go; else \
	  echo 'there is no Go 1.26: go-template is not compared with it'; fi

# With the features of all tests.
clippy:
	@cargo clippy --workspace --all-targets --features boson-brokerpak/terraform,boson-cloud/moto,e2e/cluster,e2e/network,dialect-kubernetes-templates/go,go-template/go,hil/go,ops-file/go --locked -- -D warnings

lint: deps ## Check format, lints, documentation and dependencies
	@cargo fmt --all --check
	@$(MAKE) --no-print-directory clippy
	@RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked
	@cargo run -q --locked -p xtask -- deny

fuzz: ## Fuzz what reads bytes from outside (SECONDS=30 for each target); inputs are kept in the cache
	@.ci/fuzz $(or $(SECONDS),30)

repeat: ## Run the tests of the supervisor over and over on a busy machine (TIMES=100)
	@.ci/repeat $(or $(TIMES),100)

soak: deps ## Kill processes, instances and boson at random, and check that no data is lost (KILLS=200)
	@cargo build --locked -p boson -p boson-pod
	@SOAK_KILLS=$(or $(KILLS),200) cargo test --locked -p e2e --test up soak -- --nocapture

review: deps ## Write the golden files anew, show each difference and ask whether to keep it (ARGUMENTS of cargo test)
	@.ci/review $(ARGUMENTS)

fmt: ## Format the Rust sources
	@cargo fmt --all
