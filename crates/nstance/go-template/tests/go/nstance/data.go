// Package nstance has the data that the templates of Nstance see.
package nstance

// Data is the root.
type Data struct {
	Instance Instance
	Cluster  Cluster
	Server   Server
	Provider Provider
	Vars     map[string]string
	Var      map[string]string
	Image    map[string]string
	Nonce    string
}

// Instance is the machine that a template is rendered for.
type Instance struct {
	ID, Kind, Arch, Type, Hostname, FQDN, IP4, IP6 string
}

// Cluster is the cluster that it belongs to.
type Cluster struct {
	ID, Slug, FQDN, CACert string
}

// Server is the server that manages it.
type Server struct {
	Shard, RegistrationAddr, OperatorAddr, AgentAddr string
}

// Provider is the cloud that it runs in.
type Provider struct {
	Kind, Region, Zone string
}
