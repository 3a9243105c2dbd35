# The library that templates find without `require`, because BOSH's director has it loaded. Here it loads on first use:
# a pod should not pay for what its templates never touch.
{
  'base64' => %i[Base64], 'benchmark' => %i[Benchmark], 'bigdecimal/util' => %i[BigDecimal], 'cgi' => %i[CGI],
  'csv' => %i[CSV], 'date' => %i[Date DateTime], 'delegate' => %i[Delegator SimpleDelegator],
  'digest' => %i[Digest], 'English' => [], 'erb' => %i[ERB], 'etc' => %i[Etc], 'fileutils' => %i[FileUtils],
  'forwardable' => %i[Forwardable SingleForwardable], 'ipaddr' => %i[IPAddr], 'json' => %i[JSON],
  'logger' => %i[Logger], 'monitor' => %i[Monitor MonitorMixin], 'observer' => %i[Observable], 'open3' => %i[Open3],
  'openssl' => %i[OpenSSL], 'optparse' => %i[OptionParser], 'pathname' => %i[Pathname], 'pp' => %i[PP],
  'pstore' => %i[PStore], 'resolv' => %i[Resolv], 'securerandom' => %i[SecureRandom], 'set' => %i[Set],
  'shellwords' => %i[Shellwords], 'singleton' => %i[Singleton], 'socket' => %i[
    Addrinfo BasicSocket IPSocket Socket SocketError TCPServer TCPSocket UDPSocket UNIXServer UNIXSocket
  ], 'stringio' => %i[StringIO], 'strscan' => %i[StringScanner], 'tempfile' => %i[Tempfile],
  'timeout' => %i[Timeout], 'tmpdir' => [], 'tsort' => %i[TSort], 'uri' => %i[URI], 'weakref' => %i[WeakRef],
  'yaml' => %i[YAML], 'psych' => %i[Psych], 'zlib' => %i[Zlib]
}.each { |feature, constants| constants.each { |name| autoload(name, feature) unless Object.const_defined?(name, false) } }

# In the director it is loaded, and nothing of it is offered here: requiring it changes nothing.
Boson.provide('rubygems.rb')

# Not `Net` itself: other libraries define that module too.
module Net
  autoload(:HTTP, 'net/http')
end

# Methods that a library adds to core classes: each stands in for itself until the library replaces it.
module Boson
  module Library
    # [feature, owner, methods]
    STAND_INS = [
      ['json', Object, %i[to_json]], ['yaml', Object, %i[to_yaml]],
      ['shellwords', String, %i[shellescape shellsplit]], ['shellwords', Array, %i[shelljoin]],
      ['set', Enumerable, %i[to_set]], ['uri', Kernel, %i[URI]], ['pp', Kernel, %i[pretty_inspect]],
      ['pathname', Kernel, %i[Pathname]], ['csv', Array, %i[to_csv]], ['csv', String, %i[parse_csv]],
      ['openssl', Integer, %i[to_bn]],
      ['securerandom', Random::Formatter, %i[alphanumeric base64 hex random_bytes urlsafe_base64 uuid]],
      ['time', Time, %i[iso8601 xmlschema httpdate rfc2822 rfc822]],
      ['date', Time, %i[to_date to_datetime]], ['tmpdir', Dir.singleton_class, %i[mktmpdir tmpdir]],
      ['time', Time.singleton_class, %i[parse strptime iso8601 xmlschema httpdate rfc2822]],
      ['bigdecimal/util', Kernel, %i[BigDecimal]],
      *[String, Integer, Float, Rational, NilClass].map { |owner| ['bigdecimal/util', owner, %i[to_d]] }
    ].freeze

    module_function

    def install
      STAND_INS.each do |feature, owner, names|
        names.each do |name|
          next if owner.method_defined?(name, false) || owner.private_method_defined?(name, false)

          stand_in(feature, owner, name)
        end
      end
    end

    def stand_in(feature, owner, name)
      stand_in = nil
      owner.define_method(name) do |*args, **options, &block|
        Library.replace(feature, owner, name, stand_in)
        options.empty? ? __send__(name, *args, &block) : __send__(name, *args, **options, &block)
      end
      stand_in = owner.instance_method(name)
      # What is called like a constant is a function: no object has it as a method.
      owner.__send__(:module_function, name) if name.match?(/\A[A-Z]/)
    end

    def replace(feature, owner, name, stand_in)
      require feature
      there = owner.method_defined?(name, false) || owner.private_method_defined?(name, false)
      owner.remove_method(name) if there && owner.instance_method(name) == stand_in
    end
  end
end
Boson::Library.install

# BOSH: ActiveSupport's `blank?` and friends, on every object.
class Object
  def blank?
    respond_to?(:empty?) ? !!empty? : !self
  end

  def present?
    !blank?
  end

  def presence
    self if present?
  end
end

class String
  def blank?
    empty? || match?(/\A[[:space:]]*\z/)
  end
end

class Numeric
  def blank?
    false
  end
end
