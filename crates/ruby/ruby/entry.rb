# The one entry from Rust: bytes in, bytes out. Whatever is raised here comes back as data.
#
# A request is Marshal of [method, argument], a reply Marshal of [true, result] or
# [false, {"class", "message", "line", "column"}]. Only plain values cross.
Encoding.default_external = Encoding::UTF_8
Encoding.default_internal = nil

module Boson
  @operations = {}

  class << self
    # Registers an operation that Rust may call by this name.
    def operation(name, &body)
      @operations[name] = body
    end

    def call(request)
      name, argument = Marshal.load(request)
      Marshal.dump([true, @operations.fetch(name).call(argument)])
    rescue SystemExit, Interrupt, StandardError, ScriptError, NoMemoryError, SystemStackError => e
      Marshal.dump([false, describe(e)])
    end

    private

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
