module opsfile

go 1.25.0

require (
	github.com/cppforlife/go-patch v0.2.0
	gopkg.in/yaml.v2 v2.4.0
)

require (
	github.com/onsi/ginkgo v1.16.5 // indirect
	github.com/onsi/gomega v1.44.0 // indirect
)
