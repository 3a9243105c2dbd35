# BOSH's evaluation context as the director builds it, for comparison: structs of everything at once, nothing on demand.
require 'ostruct'

class BackCompatOpenStruct < OpenStruct
  def methods(regular = true)
    regular ? super(regular) : marshal_dump.keys.map(&:to_sym)
  end
end

module Lookup
  def lookup_property(collection, name)
    keys = name.split('.')
    found = collection
    keys.each do |key|
      found = found[key]
      return nil if found.nil?
    end
    found
  end

  def p(*args)
    names = Array(args[0])
    names.each do |name|
      value = lookup_property(@raw_properties, name)
      return value unless value.nil?
    end
    return args[1] if args.length == 2

    raise "Can't find property '#{names.inspect}'"
  end

  def if_p(*names)
    values = names.map do |name|
      value = lookup_property(@raw_properties, name)
      return ActiveElseBlock.new(self) if value.nil?

      value
    end
    yield(*values)
    InactiveElseBlock.new
  end
end

class ActiveElseBlock
  def initialize(context)
    @context = context
  end

  def else
    yield
  end

  def else_if_p(*names, &block)
    @context.if_p(*names, &block)
  end

  def else_if_link(name, &block)
    @context.if_link(name, &block)
  end
end

class InactiveElseBlock
  def else; end

  def else_if_p(*)
    InactiveElseBlock.new
  end

  def else_if_link(*)
    InactiveElseBlock.new
  end
end

class EvaluationLinkInstance
  include Lookup
  attr_reader :name, :index, :id, :az, :address, :properties, :bootstrap

  def initialize(facts)
    @name = facts['name']
    @index = facts['index']
    @id = facts['id']
    @az = facts['az']
    @address = facts['address']
    @raw_properties = @properties = facts['properties']
    @bootstrap = facts['bootstrap']
  end
end

class EvaluationLink
  include Lookup
  attr_reader :instances, :properties

  def initialize(facts)
    @instances = facts['instances'].map { |instance| EvaluationLinkInstance.new(instance) }
    @raw_properties = @properties = facts['properties']
    @address = facts['address']
  end

  def address(_criteria = {})
    @address
  end
end

class EvaluationContext
  include Lookup
  attr_reader :name, :index, :properties, :raw_properties, :spec

  def initialize(spec)
    @name = spec['name']
    @index = spec['index']
    @raw_properties = spec['properties']
    @properties = openstruct(spec['properties'])
    @links = spec['links']
    @spec = openstruct(spec, BackCompatOpenStruct)
  end

  def ==(other)
    %i[spec raw_properties name index properties].all? { |part| public_send(part) == other.public_send(part) }
  end

  def get_binding
    binding
  end

  def link(name)
    found = lookup_property(@links, name)
    raise "Can't find link '#{name}'" if found.nil? || !found.key?('instances')

    EvaluationLink.new(found)
  end

  def if_link(name)
    found = lookup_property(@links, name)
    return ActiveElseBlock.new(self) if found.nil? || !found.key?('instances')

    yield EvaluationLink.new(found)
    InactiveElseBlock.new
  end

  private

  def openstruct(object, struct = OpenStruct)
    case object
    when Hash then struct.new(object.transform_values { |value| openstruct(value, struct) })
    when Array then object.map { |item| openstruct(item, struct) }
    else object
    end
  end
end

# The spec of the group's first instance, from boson's properties.yaml: BOSH's has the properties and links of all jobs.
def whole_spec(document, group, ip)
  service_domain = group['properties']['quarks']['service_domain']
  first = group['jobs'].first
  identity = first['properties']['quarks']['instances'].first
  network = {
    'type' => 'dynamic', 'cloud_properties' => {}, 'default' => %w[dns gateway], 'ip' => ip,
    'dns_record_name' => identity['address']
  }
  templates = group['jobs'].map do |job|
    { 'name' => job['name'], 'version' => job['properties']['quarks']['release']['version'] }
  end
  {
    'deployment' => document['name'],
    'job' => {
      'name' => group['name'], 'templates' => templates, 'template' => first['name'],
      'version' => templates.first['version']
    },
    'index' => identity['index'], 'bootstrap' => identity['bootstrap'], 'az' => identity['az'],
    'networks' => { 'default' => network }, 'properties_need_filtering' => true, 'dns_domain_name' => service_domain,
    'persistent_disk' => 0, 'address' => identity['address'], 'ip' => ip,
    'properties' => group['jobs'].to_h { |job| [job['name'], job['properties'].reject { |key, _| key == 'quarks' }] },
    'links' => group['jobs'].to_h { |job| [job['name'], job['properties']['quarks']['consumes']] }
  }
end

# What one job sees of it. boson's names and ids of instances are per job.
def spec_of_job(spec, job)
  identity = job['properties']['quarks']['instances'].first
  spec['name'] = identity['name']
  spec['id'] = identity['id']
  spec['properties'] = spec['properties'][job['name']]
  spec['links'] = spec['links'][job['name']]
  spec['release'] = { 'name' => job['release'], 'version' => job['properties']['quarks']['release']['version'] }
  spec
end
