# A library that is in the executable: an archive of one is made, the library is taken away, and its files are required.
# ARGV: entry.rb, archive.rb, a directory to work in.
require 'fileutils'
require 'rbconfig'

entry, archiver, work = ARGV
library = File.join(work, 'lib')
FILES = {
  'lib/one.rb' => "require_relative 'one/inner'\nautoload :Beside, \"\#{__dir__}/one/beside\"\nmodule One\n  LOADS = (defined?(LOADS) ? LOADS : 0) + 1\n  PLACE = __FILE__\nend\n",
  'lib/one/inner.rb' => "require_relative '../two'\nrequire 'one/deep/leaf.rb'\nrequire 'one'\n",
  'lib/one/deep/leaf.rb' => "require_relative './../../two'\nLEAF = TWO + 1\n",
  'lib/one/beside.rb' => "class Beside\nend\n",
  'lib/two.rb' => "# frozen_string_literal: true\nTWO = (defined?(TWO) ? TWO : 0) + 1\nFROZEN = 'x'.frozen?\n",
  'lib/lazy.rb' => "class Lazy\nend\n",
  'disk/a.rb' => "require_relative 'b'\n",
  'disk/b.rb' => "ON_DISK = true\n"
}.freeze
FILES.each do |name, text|
  path = File.join(work, name)
  FileUtils.mkdir_p(File.dirname(path))
  File.write(path, text)
end
archive = File.join(work, 'archive.bin')
command = [RbConfig.ruby, '--disable-gems', '-I', library, archiver, archive, '--features', 'one']
system({ 'BOSON_RUBY_LIBRARY' => library }, *command) or abort('no archive')
FileUtils.rm_rf(library)

ARCHIVE = File.binread(archive)
# As Rust defines them.
module Boson
  def self.provide(path)
    $LOADED_FEATURES << path
  end

  def self.archived_file(path)
    table, count = ARCHIVE.unpack('@20V2')
    rows = Array.new(count) { |i| ARCHIVE.unpack("@#{table + 16 * i}V4") }
    found = rows.find { |place, size,| ARCHIVE.byteslice(place, size) == path.b }
    found && ARCHIVE.byteslice(*found.last(2))
  end
end
load entry
Boson.install_library

WRONG = []
def check(what)
  came = begin
    yield
  rescue Exception => e # rubocop:disable Lint/RescueException -- a LoadError is none of the standard ones
    e
  end
  WRONG << "#{what}: #{came.inspect}" unless came == true
end

def raises(error, words)
  yield
  false
rescue error => e
  e.message == words || e.message
end

autoload :Lazy, 'lazy'
check('a file is required once') { [require('one'), require('one'), require('one.rb'), require('two')] == [true, false, false, false] }
check('what it requires is loaded once') { [One::LOADS, TWO, LEAF] == [1, 1, 2] }
check('its name is not a path') { One::PLACE == '<boson>/lib/one.rb' }
check('magic comments hold') { FROZEN }
check('autoload finds it') { Lazy.is_a?(Class) }
check('autoload by place finds it') { Beside.is_a?(Class) }
check('what is not there') { raises(LoadError, 'cannot load such file -- absent') { require 'absent' } }
check('the machine has a library, too') { raises(LoadError, 'cannot load such file -- csv') { require 'csv' } }
check('files of the disk are found by path') { require(File.join(work, 'disk/a')) && ON_DISK }
check('require_relative needs a place') { raises(LoadError, 'cannot infer basepath') { eval("require_relative 'x'", binding, 'job/template') } }
check('Kernel has it') { Kernel.require('one') == false }
check('it is private') { raises(NoMethodError, nil) { Object.new.require('one') }.to_s.start_with?('private method') }
abort(WRONG.join("\n")) unless WRONG.empty?
puts 'all is well'
