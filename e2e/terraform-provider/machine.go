package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// machine is random_machine: an object of a service outside, whose attributes are those that imports and updates need: some that are
// set, one that only exists there (endpoint), one that replaces the object (region), one that is secret (password).
type machine struct{ store *store }

type machineModel struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	ServerName types.String `tfsdk:"server_name"`
	Region     types.String `tfsdk:"region"`
	Size       types.Int64  `tfsdk:"size"`
	Password   types.String `tfsdk:"password"`
	Endpoint   types.String `tfsdk:"endpoint"`
	Tags       types.Map    `tfsdk:"tags"`
	Fail       types.String `tfsdk:"fail"`
}

// object is what a machine's file contains.
type object struct {
	Name       *string           `json:"name"`
	ServerName *string           `json:"server_name"`
	Region     *string           `json:"region"`
	Size       *int64            `json:"size"`
	Password   *string           `json:"password"`
	Tags       map[string]string `json:"tags"`
}

func (*machine) Metadata(_ context.Context, _ resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = "random_machine"
}

func (*machine) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	response.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":          schema.StringAttribute{Computed: true, PlanModifiers: keep},
		"name":        schema.StringAttribute{Required: true},
		"server_name": schema.StringAttribute{Optional: true},
		"region": schema.StringAttribute{Optional: true,
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"size":     schema.Int64Attribute{Optional: true},
		"password": schema.StringAttribute{Optional: true, Sensitive: true},
		"endpoint": schema.StringAttribute{Computed: true, PlanModifiers: keep},
		"tags":     schema.MapAttribute{Optional: true, ElementType: types.StringType},
		// The operation that fails. Its message contains the password, as those of careless services do.
		"fail": schema.StringAttribute{Optional: true},
	}}
}

func (m *machine) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if request.ProviderData != nil {
		m.store = request.ProviderData.(*store)
	}
}

// begin waits or fails as the directory and the attribute "fail" demand.
func (m *machine) begin(ctx context.Context, operation string, model *machineModel) error {
	return m.store.begin(ctx, operation, model.Fail.ValueString(), model.Password.ValueString())
}

func (m *machine) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var model machineModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	if response.Diagnostics.HasError() {
		return
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		response.Diagnostics.AddError("no random numbers", err.Error())
		return
	}
	model.ID = types.StringValue("m-" + hex.EncodeToString(id[:]))
	model.Endpoint = types.StringValue(model.ID.ValueString() + ".example.com")
	if err := m.begin(ctx, "create", &model); err != nil {
		response.Diagnostics.AddError("cannot create the machine", err.Error())
		return
	}
	if err := m.write(ctx, &model); err != nil {
		response.Diagnostics.AddError("cannot write the machine", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &model)...)
}

func (m *machine) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var model machineModel
	response.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if response.Diagnostics.HasError() {
		return
	}
	if err := m.begin(ctx, "read", &model); err != nil {
		response.Diagnostics.AddError("cannot read the machine", err.Error())
		return
	}
	found, err := m.store.read(model.ID.ValueString())
	if err != nil {
		response.Diagnostics.AddError("cannot read the machine", err.Error())
		return
	}
	if found == nil {
		response.State.RemoveResource(ctx)
		return
	}
	model.Name = types.StringPointerValue(found.Name)
	model.ServerName = types.StringPointerValue(found.ServerName)
	model.Region = types.StringPointerValue(found.Region)
	model.Size = types.Int64PointerValue(found.Size)
	model.Password = types.StringPointerValue(found.Password)
	model.Endpoint = types.StringValue(model.ID.ValueString() + ".example.com")
	model.Tags = types.MapNull(types.StringType)
	if found.Tags != nil {
		tags, diagnostics := types.MapValueFrom(ctx, types.StringType, found.Tags)
		response.Diagnostics.Append(diagnostics...)
		model.Tags = tags
	}
	response.Diagnostics.Append(response.State.Set(ctx, &model)...)
}

func (m *machine) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var model machineModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	if response.Diagnostics.HasError() {
		return
	}
	if err := m.begin(ctx, "update", &model); err != nil {
		response.Diagnostics.AddError("cannot update the machine", err.Error())
		return
	}
	if err := m.write(ctx, &model); err != nil {
		response.Diagnostics.AddError("cannot write the machine", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &model)...)
}

func (m *machine) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var model machineModel
	response.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if response.Diagnostics.HasError() {
		return
	}
	err := m.begin(ctx, "delete", &model)
	if err == nil {
		err = m.store.remove(model.ID.ValueString())
	}
	if err != nil {
		response.Diagnostics.AddError("cannot delete the machine", err.Error())
	}
}

func (m *machine) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	err := m.store.begin(ctx, "import", "", "")
	if err == nil {
		var found *object
		if found, err = m.store.read(request.ID); err == nil && found == nil {
			response.Diagnostics.AddError("the machine does not exist", request.ID)
			return
		}
	}
	if err != nil {
		response.Diagnostics.AddError("cannot import the machine", err.Error())
		return
	}
	resource.ImportStatePassthroughID(ctx, path.Root("id"), request, response)
}

func (m *machine) write(ctx context.Context, model *machineModel) error {
	content := object{
		Name:       model.Name.ValueStringPointer(),
		ServerName: model.ServerName.ValueStringPointer(),
		Region:     model.Region.ValueStringPointer(),
		Size:       model.Size.ValueInt64Pointer(),
		Password:   model.Password.ValueStringPointer(),
	}
	if !model.Tags.IsNull() {
		model.Tags.ElementsAs(ctx, &content.Tags, false)
	}
	return m.store.write(model.ID.ValueString(), &content)
}
