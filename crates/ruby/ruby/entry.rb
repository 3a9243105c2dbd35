# The one entry from Rust: bytes in, bytes out. Whatever is raised here comes back as data.
#
# A request is Marshal of [method, argument], a reply Marshal of [true, result] or
# [false, {"class", "message", "line", "column"}]. Only plain values cross.
Encoding.default_external = Encoding::UTF_8
Encoding.default_internal = nil
# Most of what runs here ends before collecting would pay.
GC.disable

module Boson
  @operations = {}
  @sources = {}
  @files = {}
  @features = {}

  class << self
    # Registers an operation that Rust may call by this name.
    def operation(name, &body)
      @operations[name] = body
    end

    # Adds an archive of instruction sequences, each of which is taken out when it is needed; one that another Ruby made
    # is of no use.
    def add_archive(archive)
      length = archive.unpack1('N')
      index = Marshal.load(archive.byteslice(4, length))
      return unless index['ruby'] == RUBY_DESCRIPTION

      place = ->((from, size)) { [archive, 4 + length + from, size] }
      @sources.update(index['sources'].transform_values(&place))
      @files.update(index['files'].transform_values(&place))
      @features.update(index['features'])
    end

    # Evaluates a source of ours: what was compiled ahead, else its text.
    def source(name, text)
      compiled = @sources.delete(name)
      return sequence(compiled).eval if compiled

      eval(text, TOPLEVEL_BINDING, "<boson>/#{name}.rb", 1)
    end

    # The compiled form of a library's file, `nil` where it is not in an archive.
    def compiled(path)
      place = @files[path]
      place && sequence(place)
    end

    # Requires a library; where all of it is in an archive, without a look at the disk.
    def feature(name)
      paths = @features.delete(name)
      return require(name) if paths.nil? || paths.empty?

      evaluate(paths - $LOADED_FEATURES) || require(name)
    end

    # Loads some of a library's files; a later `feature` or `require` loads the others.
    def part(name, files)
      paths = files.map { |file| @features[name]&.find { |path| path.end_with?("/#{file}") } }
      feature(name) unless paths.all? && evaluate(paths - $LOADED_FEATURES)
    end

    # Evaluates files in this order, if the archive has all of them. What they require of each other counts as loaded.
    def evaluate(paths)
      ours, extensions = paths.partition { |path| path.end_with?('.rb') }
      return false unless ours.all? { |path| @files.key?(path) }

      ours.each { |path| provide(path) }
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

    def call(request)
      name, argument = Marshal.load(request)
      Marshal.dump([true, @operations.fetch(name).call(argument)])
    rescue SystemExit, Interrupt, StandardError, ScriptError, NoMemoryError, SystemStackError => e
      Marshal.dump([false, describe(e)])
    end

    # Runs an operation in a process forked from this one, with an end of a pipe to write to; gives the process's id.
    # The other end is the caller's only.
    def fork(request, others, output)
      Process.fork do
        IO.for_fd(others).close
        name, argument = Marshal.load(request)
        output = IO.for_fd(output, 'wb')
        output.sync = true
        @operations.fetch(name).call(argument, output)
      ensure
        # No exit handlers: what ran here may have registered some.
        Process.exit!(0)
      end
    end

    private

    # Without the collector, which older Rubies do not tell of all that is loaded.
    def sequence((archive, from, size))
      disabled = GC.disable
      RubyVM::InstructionSequence.load_from_binary(archive.byteslice(from, size))
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

# Ruby asks this for every file that it loads.
class << RubyVM::InstructionSequence
  def load_iseq(path)
    Boson.compiled(path)
  end
end
