# Evaluates one template in a Ruby process of its own, as Quarks' renderer does for every template, without its gem.
# Arguments: properties.yaml, instance group, job, template, output, the pod's address.
require 'erb'
require 'json'
require 'yaml'
require 'ostruct'
# What the director has loaded.
%w[cgi digest ipaddr openssl securerandom set shellwords time uri].each { |library| require library }
require_relative 'context'

resolved, group_name, job_name, template, output, ip = ARGV
document = YAML.safe_load(File.read(resolved), permitted_classes: [Symbol], aliases: true)
group = document['instance_groups'].find { |g| g['name'] == group_name }
job = group['jobs'].find { |j| j['name'] == job_name }
context = EvaluationContext.new(spec_of_job(whole_spec(document, group, ip), job))
erb = ERB.new(File.read(template), trim_mode: '-')
erb.filename = template
File.write(output, erb.result(context.get_binding))
