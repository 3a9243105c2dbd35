# Evaluates all templates of an instance group in one warm process, the way BOSH's director does. Only evaluation is
# timed: its start, reading and writing are not, and one pass before the timed ones warms everything.
# Arguments: properties.yaml, instance group, list of templates (job, destination, path; tabs between), output directory,
# the pod's address. For each line on its standard input it makes a pass and prints the milliseconds; at the end it
# writes what it rendered.
require 'erb'
require 'json'
require 'yaml'
require 'ostruct'
# What the director has loaded.
%w[cgi digest ipaddr openssl securerandom set shellwords time uri].each { |library| require library }
require 'fileutils'
require_relative 'context'

Template = Struct.new(:name, :destination, :text)

resolved, group_name, list, output, ip = ARGV
$VERBOSE = nil
document = YAML.safe_load(File.read(resolved), permitted_classes: [Symbol], aliases: true)
group = document['instance_groups'].find { |g| g['name'] == group_name }
templates = Hash.new { |hash, key| hash[key] = [] }
File.readlines(list, chomp: true).each do |line|
  job, destination, path = line.split("\t")
  templates[job] << Template.new("#{job}/#{File.basename(path)}", destination, File.read(path))
end
SPEC = whole_spec(document, group, ip)

def deep_copy(object)
  Marshal.load(Marshal.dump(object))
end

# BOSH: the spec of all jobs is copied for each job; the context is copied again after a template that changed it.
def render(group, templates)
  group['jobs'].flat_map do |job|
    original = EvaluationContext.new(spec_of_job(deep_copy(SPEC), job))
    copy = deep_copy(original)
    templates.fetch(job['name'], []).map do |template|
      copy = deep_copy(original) unless copy == original
      erb = ERB.new(template.text, trim_mode: '-')
      erb.filename = template.name
      [job['name'], template.destination, erb.result(copy.get_binding)]
    end
  end
end

def milliseconds
  started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
  (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started) * 1000
end

rendered = render(group, templates)
$stdout.sync = true
$stdin.each_line { puts milliseconds { render(group, templates) } }
rendered.each do |job, destination, text|
  path = File.join(output, job, destination)
  FileUtils.mkdir_p(File.dirname(path))
  File.binwrite(path, text)
end
