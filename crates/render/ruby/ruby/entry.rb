# The one entry from Rust: bytes in, bytes out. Whatever is raised here comes back as data.
#
# A request is Marshal of [method, argument], a reply Marshal of [true, result] or
# [false, {"class", "message", "line", "column"}]. Only plain values cross.
Encoding.default_external = Encoding::UTF_8
Encoding.default_internal = nil
# Ruby takes them for exceptions of what it runs, and a caller outside Ruby would wait forever.
%w[TERM INT].each { |signal| Signal.trap(signal, 'SYSTEM_DEFAULT') }

# Rust gives it the methods that look into archives of instruction sequences, archived_source, archived_file and
# archived_feature; provide, end_with, adopt, unset_variable and receive (c.rs).
module Boson
  @operations = {}
  @loaded = {}
  @sources = {}

  class << self
    # Registers an operation that Rust may call by this name.
    def operation(name, &body)
      @operations[name] = body
    end

    # Evaluates one of boson's own sources, once: compiled ahead, or else from its text.
    def source(name, text)
      return if @sources[name]

      @sources[name] = true
      compiled = archived_source(name)
      return sequence(compiled).eval if compiled

      eval(text, TOPLEVEL_BINDING, "<boson>/#{name}.rb", 1)
    end

    # The compiled form of a library's file, `nil` where it is not in an archive.
    def compiled(path)
      found = archived_file(path)
      found && sequence(found)
    end

    # Requires a library; where all of it is in an archive, without a look at the disk.
    def feature(name)
      paths = @loaded[name] ? [] : files_of(name)
      @loaded[name] = true
      return require(name) if paths.empty?

      evaluate(paths - $LOADED_FEATURES) || require(name)
    end

    # Loads some of a library's files, as far as this Ruby's has them; a later `feature` or `require` loads the others.
    def part(name, files)
      all = files_of(name)
      paths = files.filter_map { |file| all.find { |path| "/#{path}".end_with?("/#{file}") } }
      feature(name) unless paths.any? && evaluate(paths - $LOADED_FEATURES)
    end

    # Requires a file of the embedded library, by its name or by its place: `nil` where it does not exist.
    def embedded(asked)
      asked = "#{asked}.rb" unless asked.end_with?('.rb')
      name = asked.delete_prefix(Embedded::LIBRARY)
      found = archived_file(name)
      return unless found
      return false if $LOADED_FEATURES.include?(name)

      # An autoload looks for what it asked for.
      [name, asked].uniq.each { |feature| provide(feature) }
      sequence(found).eval
      true
    end

    # Evaluates files in this order, if the archive has all of them. What they require of each other counts as loaded.
    def evaluate(paths)
      sources, extensions = paths.partition { |path| path.end_with?('.rb') }
      return false unless sources.all? { |path| archived_file(path) }

      sources.each { |path| provide(path) }
      without_autoload(%i[BigDecimal Date DateTime]) do
        paths.each { |path| extensions.include?(path) ? require(path) : compiled(path).eval }
      end
      true
    end

    # Psych looks for these classes while it loads, and finds them later too.
    def without_autoload(names)
      waiting = names.to_h { |name| [name, Object.autoload?(name, false)] }.compact
      waiting.each_key { |name| Object.__send__(:remove_const, name) }
      yield
    ensure
      waiting.each { |name, feature| Object.autoload(name, feature) }
    end

    # What is required is in the executable first of all.
    def install_library
      Embedded.install
    end

    def call(request)
      name, argument = Marshal.load(request)
      Marshal.dump([true, @operations.fetch(name).call(argument)])
    rescue SystemExit, Interrupt, StandardError, ScriptError, NoMemoryError, SystemStackError => e
      Marshal.dump([false, describe(e)])
    end

    # Forks a process that forks those that operations run in, as it is asked at one end of a connection; the other end is
    # the caller's only. However the caller ends, so do they all.
    def serve_forks(socket, others)
      parent = Process.pid
      Process.fork do
        end_with(parent)
        # What templates leave in the background is found among the children of this process.
        adopt(nil)
        IO.for_fd(others).close
        connection = IO.for_fd(socket, 'r+b')
        connection.syswrite(Process.pid.to_s)
        while (message = receive(socket))
          kind, *numbers = message.split
          connection.syswrite(kind == 'fork' ? start(connection, *numbers.map(&:to_i)) : wait(numbers.first.to_i))
        end
      ensure
        Process.exit!(0)
      end
    end

    private

    # Runs an operation in a process; gives its id, or the error that kept it from starting. `request` is a file with the
    # operation's name and argument, `output` an end of a pipe to write to.
    def start(connection, request, output)
      parent = Process.pid
      pid = Process.fork do
        end_with(parent)
        connection.close
        name, argument = Marshal.load(IO.for_fd(request, 'rb').read)
        output = IO.for_fd(output, 'wb')
        output.sync = true
        @operations.fetch(name).call(argument, output)
      ensure
        # No exit handlers: what ran here may have registered some.
        Process.exit!(0)
      end
      [request, output].each { |file| IO.for_fd(file).close }
      pid.to_s
    rescue SystemCallError => e
      e.class.name
    end

    def wait(pid)
      Process.wait(pid)
      pid.to_s
    end

    # The files that requiring a library loads.
    def files_of(name)
      (archived_feature(name) || '').force_encoding(Encoding::UTF_8).split("\0")
    end

    # Without the collector: older Rubies do not mark everything that is loaded.
    def sequence(binary)
      disabled = GC.disable
      RubyVM::InstructionSequence.load_from_binary(binary)
    ensure
      GC.enable unless disabled
    end

    def describe(error)
      facts = { 'class' => error.class.name.to_s, 'message' => error.message.to_s.dup.force_encoding(Encoding::UTF_8).scrub }
      if defined?(Psych::SyntaxError) && error.is_a?(Psych::SyntaxError)
        facts['line'] = error.line
        facts['column'] = error.column
        facts['message'] = [error.problem, error.context].compact.join(' ')
      end
      facts
    end
  end
end

# If the library is in the executable, `require` loads from there, and the disk has none of it.
module Boson
  module Embedded
    LIBRARY = '<boson>/lib/'

    module_function

    def install
      # Also what RUBYLIB has put there.
      $LOAD_PATH.clear
      original = Kernel.instance_method(:require)
      replace(:require) do |name|
        taken = name.is_a?(String) ? Boson.embedded(name) : nil
        taken.nil? ? original.bind_call(self, name) : taken
      end
      replace(:require_relative) do |name|
        place = caller_locations(1, 1).first.absolute_path
        raise LoadError, 'cannot infer basepath' unless place

        require Embedded.beside(place, name)
      end
    end

    def replace(name, &body)
      [Kernel, Kernel.singleton_class].each { |owner| owner.define_method(name, &body) }
      Kernel.__send__(:private, name)
    end

    # What `name` means in the file at `place`.
    def beside(place, name)
      return File.expand_path(name, File.dirname(place)) unless place.start_with?(LIBRARY)

      File.expand_path(name, "/#{File.dirname(place.delete_prefix(LIBRARY))}").delete_prefix('/')
    end
  end
end

# Ruby asks this for every file that it loads.
class << RubyVM::InstructionSequence
  def load_iseq(path)
    Boson.compiled(path)
  end
end
