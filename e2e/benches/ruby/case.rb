# Runs one golden test in a Ruby process of its own, as release authors do with rspec and the gem bosh-template, without these
# gems. Arguments: the release, a job, a case.
require 'erb'
require 'json'
require 'yaml'
require 'ostruct'
require_relative 'context'

# What templates read of a job without links.
class Job
  include Lookup

  def initialize(properties, name)
    @raw_properties = properties
    @name = name
  end

  def spec
    OpenStruct.new(name: "#{@name}-#{@name}", index: 0)
  end

  def get_binding
    binding
  end
end

def set(properties, name, value)
  *parents, last = name.split('.')
  parents.each { |key| properties = (properties[key] ||= {}) }
  properties[last] = value
end

release, job, name = ARGV
spec = YAML.safe_load(File.read("#{release}/jobs/#{job}/spec"))
tests = "#{release}/tests/#{job}/#{name}"
given = YAML.safe_load(File.read("#{tests}/properties.yml"))
properties = {}
spec['properties'].each do |property, definition|
  value = given.dig(*property.split('.'))
  value = definition['default'] if value.nil?
  set(properties, property, value)
end
context = Job.new(properties, job)
spec['templates'].each do |source, destination|
  template = ERB.new(File.read("#{release}/jobs/#{job}/templates/#{source}"), trim_mode: '-')
  expected = File.read("#{tests}/expected/#{destination}")
  abort "#{destination} differs" unless template.result(context.get_binding) == expected
end
