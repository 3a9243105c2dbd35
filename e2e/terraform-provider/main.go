// A provider for tests, in the place of hashicorp/random: random_string as that provider has it, and random_machine, whose
// objects are files of a directory, so that a test sees what exists, changes it, and makes an operation fail or hang.
//
// The directory is the provider's argument "directory", else the environment variable RANDOM_DIRECTORY. Files in it:
//
//	machines/ID.json  the object
//	fail-OPERATION    the operation fails with the content of the file as its message
//	hang-OPERATION    the operation waits until the file does not exist any more; with the content "ignore" also when
//	                  terraform is interrupted
//	at-OPERATION      written by the provider when the operation begins
//
// OPERATION is create, read, update, delete or import.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func main() {
	options := providerserver.ServeOpts{Address: "registry.terraform.io/hashicorp/random"}
	if err := providerserver.Serve(context.Background(), func() provider.Provider { return &random{} }, options); err != nil {
		log.Fatal(err)
	}
}

type random struct{}

type randomModel struct {
	Directory types.String `tfsdk:"directory"`
}

func (*random) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName = "random"
}

func (*random) Schema(_ context.Context, _ provider.SchemaRequest, response *provider.SchemaResponse) {
	response.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"directory": schema.StringAttribute{Optional: true},
	}}
}

func (*random) Configure(ctx context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse) {
	var model randomModel
	response.Diagnostics.Append(request.Config.Get(ctx, &model)...)
	response.ResourceData = openStore(model.Directory.ValueString())
}

func (*random) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &text{} },
		func() resource.Resource { return &machine{} },
	}
}

func (*random) DataSources(context.Context) []func() datasource.DataSource { return nil }
