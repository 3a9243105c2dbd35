// Command dns serves names: CoreDNS with the few plugins that a cluster for tests and boson's deployments need.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/rewrite"
)

func main() {
	dnsserver.Directives = []string{"errors", "health", "ready", "rewrite", "hosts", "kubernetes", "forward"}
	coremain.Run()
}
