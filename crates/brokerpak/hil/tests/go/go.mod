module hiloracle

go 1.25.0

require github.com/hashicorp/hil v0.0.0-20241119142051-4415e05c565c

require (
	github.com/mitchellh/mapstructure v1.5.0 // indirect
	github.com/mitchellh/reflectwalk v1.0.2 // indirect
)
