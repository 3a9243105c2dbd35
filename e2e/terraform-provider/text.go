package main

import (
	"context"
	"crypto/rand"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// text is random_string: a text that stays the same until one of its arguments changes.
type text struct{}

type textModel struct {
	ID              types.String `tfsdk:"id"`
	Keepers         types.Map    `tfsdk:"keepers"`
	Length          types.Int64  `tfsdk:"length"`
	Special         types.Bool   `tfsdk:"special"`
	OverrideSpecial types.String `tfsdk:"override_special"`
	Result          types.String `tfsdk:"result"`
}

func (*text) Metadata(_ context.Context, _ resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = "random_string"
}

func (*text) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	response.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": schema.StringAttribute{Computed: true, PlanModifiers: keep},
		"keepers": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			PlanModifiers: []planmodifier.Map{mapplanmodifier.RequiresReplace()}},
		"length": schema.Int64Attribute{Required: true,
			PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()}},
		"special": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			PlanModifiers: []planmodifier.Bool{boolplanmodifier.RequiresReplace()}},
		"override_special": schema.StringAttribute{Optional: true,
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplaceIfConfigured()}},
		"result": schema.StringAttribute{Computed: true, PlanModifiers: keep},
	}}
}

func (*text) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var model textModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	if response.Diagnostics.HasError() {
		return
	}
	characters := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	if model.Special.ValueBool() {
		special := "!@#$%&*()-_=+[]{}<>:?"
		if !model.OverrideSpecial.IsNull() {
			special = model.OverrideSpecial.ValueString()
		}
		characters += special
	}
	result := make([]byte, model.Length.ValueInt64())
	for i := range result {
		number, err := rand.Int(rand.Reader, big.NewInt(int64(len(characters))))
		if err != nil {
			response.Diagnostics.AddError("no random numbers", err.Error())
			return
		}
		result[i] = characters[number.Int64()]
	}
	model.Result = types.StringValue(string(result))
	model.ID = model.Result
	response.Diagnostics.Append(response.State.Set(ctx, &model)...)
}

func (*text) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (*text) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var model textModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	response.Diagnostics.Append(response.State.Set(ctx, &model)...)
}

func (*text) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// ImportState takes the text itself, as hashicorp/random does.
func (*text) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	set := func(name string, value any) {
		response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root(name), value)...)
	}
	set("id", request.ID)
	set("result", request.ID)
	set("length", int64(len(request.ID)))
	set("special", true)
}
