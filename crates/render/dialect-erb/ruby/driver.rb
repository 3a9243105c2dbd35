# Evaluates templates, in processes forked from one that itself never runs a template's code. Whatever a template does to
# its process ends with it.
module Boson
  module Templates
    module_function

    # `request`: "commons" (Marshal of [properties, links]), "contexts" ([which of them is its, Marshal of the rest of the
    # spec]), "units" ([indexes of contexts, {"file", "code", "erb", "isolation", "eager", "noted", "later", and
    # "trace" and "branching" if how it renders is noted}]), "features"
    # (libraries to load before). Writes for each context of each unit a frame: its length, and T and bytes, or F and Marshal
    # of facts, or S and how many frames before there is the same result.
    def work(request, output)
      Signal.trap(COLLECT) { GC.enable }
      utc
      Process.setpgid(0, 0)
      limit_memory
      [$stdin, $stdout, $stderr].each { |io| io.reopen(File::NULL, io.equal?($stdin) ? 'r' : 'w') }
      # Before any template runs: what templates in processes of their own use is loaded once.
      request['features'].each { |feature| Boson.feature(feature) }
      contexts = Contexts.new(request['commons'], request['contexts'])
      request['units'].each do |indexes, unit|
        if unit['isolation'] == 'process'
          in_own_processes(contexts, indexes, unit, output)
        else
          in_this_process(contexts, indexes, unit, output)
        end
      end
    end

    # A template that leaves nothing behind. Its result depends on its properties, its links, and what it reads of the rest of
    # its spec, which is noted: a context that has the same there gets the same result.
    def in_this_process(contexts, indexes, unit, output)
      template = Template.new(unit)
      # Positions of results by what was read: names, then values.
      known = {}
      # A write costs as much as a small template: frames wait for the next evaluation, which may take long.
      frames = ''.b
      indexes.each_with_index do |index, n|
        same = known.filter_map { |names, results| results[contexts.values(index, names)] }.first
        if same
          frames << frame('S', [n - same].pack('N'))
        else
          output.write(frames) unless frames.empty?
          read = {}
          frames = result_frame(template.evaluate(contexts, index, read))
          (known[read.keys] ||= {})[contexts.values(index, read.keys)] = n if unit['noted']
        end
      end
      output.write(frames)
    end

    # The memory that a process may take in addition to what it starts with, in bytes.
    MAX_MEMORY = 2 << 30
    # The largest file, in bytes.
    MAX_SIZE = 64 << 20

    # A template that takes more fails, before the machine has none left.
    def limit_memory
      size = File.read('/proc/self/status')[/^VmSize:\s*(\d+)/, 1].to_i * 1024
      Process.setrlimit(:AS, size + MAX_MEMORY)
    rescue SystemCallError
      # Without /proc there is no limit.
    end

    # Makes UTC the local time, whatever the machine's is, and leaves no variable behind: Ruby and the C library remember
    # the zone until Ruby changes the variable.
    def utc
      # With the offset, so that the C library needs no file.
      ENV['TZ'] = 'UTC0'
      Time.now.utc_offset
      Boson.unset_variable('TZ')
    end

    # What the parent sends to those that take long. Programs that templates start ignore it.
    COLLECT = 'WINCH'

    # The objects of specs: loaded when they are needed, and again for each template that may change them.
    class Contexts
      def initialize(commons, contexts)
        @commons = commons
        @contexts = contexts
        @shared = {}
        @own = {}
        @last = @last_index = nil
      end

      # What a context has under these names: objects that no template gets.
      def values(index, names)
        names.empty? ? names : (@own[index] ||= Marshal.load(@contexts[index][1])).values_at(*names)
      end

      def shared(index)
        return @last if @last_index == index

        common = @contexts[index][0]
        @last_index = index
        @last = build(index, @shared[common] ||= load(common))
      end

      def copy(index)
        build(index, load(@contexts[index][0]))
      end

      private

      def load(common)
        Marshal.load(@commons[common])
      end

      def build(index, (properties, links))
        spec = Marshal.load(@contexts[index][1])
        spec['properties'] = properties if spec.key?('properties')
        spec['links'] = links if spec.key?('links')
        spec
      end
    end

    # A template in processes of its own, since it may leave something behind: one process for several contexts, one after the
    # other. Where a context has ended its process, the next one gets another.
    def in_own_processes(contexts, indexes, unit, output)
      until indexes.empty?
        count = results_of_process(contexts, indexes.first(AT_A_TIME), unit) { |result| output.write(result_frame(result)) }
        indexes = indexes.drop(count)
      end
    end

    # Each has objects of its own, which are all loaded before the process starts.
    AT_A_TIME = 8

    # Yields results and gives their number; the one that ended the process is the last. What the process sends is checked
    # here: the template may have broken anything there, but nothing in this process.
    def results_of_process(contexts, indexes, unit)
      reader, pid = start_process(contexts, indexes, unit)
      count = 0
      while (result = received(reader)) && count < indexes.size - 1
        yield result
        count += 1
      end
      reader.close
      _, status = Process.wait2(pid)
      yield(status.success? && result ? result : [false, LOST])
      count + 1
    ensure
      reader&.close
    end

    def start_process(contexts, indexes, unit)
      specs = indexes.drop(1).map { |index| contexts.copy(index) }.unshift(contexts.shared(indexes.first))
      reader, writer = IO.pipe(binmode: true)
      writer.sync = true
      parent = Process.pid
      pid = Process.fork do
        Boson.end_with(parent)
        reader.close
        AnotherTime.begin if unit['later']
        Boson.source('trace', unit['trace']) if unit['trace']
        specs.each { |spec| WRITE.bind_call(writer, Marshal.dump(result(spec, unit))) }
        Process.exit!(0)
      ensure
        Process.exit!(9)
      end
      writer.close
      [reader, pid]
    end

    def result(spec, unit)
      unit['trace'] ? [true, Trace.evaluate(spec, unit)] : evaluate(spec, unit)
    end

    def received(reader)
      done, result = Marshal.load(reader)
      [done, result] if done == true && result.is_a?(String) || done == false && result.is_a?(Hash)
    rescue EOFError, TypeError, ArgumentError, NameError
      nil
    end

    WRITE = IO.instance_method(:write)
    LOST = { 'class' => 'Boson::Lost', 'message' => 'ended the process it was evaluated in', 'line' => nil }.freeze

    def result_frame((done, result))
      done ? frame('T', result) : frame('F', Marshal.dump(result))
    end

    def frame(kind, content)
      [content.bytesize + 1].pack('N') << kind << content.b
    end

    # A template that is evaluated in this process.
    class Template
      def initialize(unit)
        @unit = unit
        @block = nil
        @valid = false
      end

      def evaluate(contexts, index, read)
        return Templates.evaluate_apart(contexts.copy(index), @unit, read) if @unit['isolation'] == 'copy'

        @block ||= block if @valid
        result = Templates.evaluate(contexts.shared(index), @unit, read, @block)
        @valid ||= result[0]
        result
      end

      private

      # The code, compiled once for all further contexts. It has been evaluated, so it is whole. What it defines would not
      # become part of the context's class: it defines nothing.
      def block
        binding = Bosh::Common::Template::EvaluationContext.new({}).get_binding
        eval("proc { #{@unit['code']}\n}", binding, @unit['file'], 0) # rubocop:disable Security/Eval
      rescue SyntaxError
        nil
      end
    end

    # One template with objects of its own; the methods and constants that it defines go with it.
    def evaluate_apart(spec, unit, read)
      evaluate(spec, unit, read)
    ensure
      owner = Bosh::Common::Template::EvaluationContext
      defined = owner.instance_methods(false) + owner.private_instance_methods(false) - METHODS
      defined.each { |name| owner.remove_method(name) }
      (owner.constants(false) - CONSTANTS).each { |name| owner.__send__(:remove_const, name) }
    end

    METHODS = Bosh::Common::Template::EvaluationContext.then do |owner|
      owner.instance_methods(false) + owner.private_instance_methods(false)
    end
    CONSTANTS = Bosh::Common::Template::EvaluationContext.constants(false)

    # One template in the current process. `read` gets the names of what it reads of its spec, `block` is its compiled code.
    def evaluate(spec, unit, read = {}, block = nil)
      context = Bosh::Common::Template::EvaluationContext.new(spec, unit['eager'], read)
      output = block ? context.instance_exec(&block) : run(unit, context.get_binding)
      text = output.to_s
      return [false, TOO_LARGE] if text.bytesize > MAX_SIZE

      [true, text.b]
    rescue Exception => e # rubocop:disable Lint/RescueException -- BOSH rescues it too: exit and syntax errors included
      [false, facts(e, unit['file'])]
    end

    TOO_LARGE = {
      'class' => 'Boson::TooLarge', 'message' => "rendered more than #{MAX_SIZE >> 20} MiB, the largest size of a file", 'line' => nil
    }.freeze

    def run(unit, binding)
      eval(unit['erb'] ? compiled(unit) : unit['code'], binding, unit['file'], 0) # rubocop:disable Security/Eval
    end

    def compiled(unit)
      ERB.new(unit['code'], trim_mode: '-').src
    rescue ArgumentError => e
      # About the magic comment.
      raise e.class, e.message, ["#{unit['file']}:1"]
    end

    def facts(error, file)
      text = message(error)
      line = line(error, file)
      facts = { 'class' => error.class.name.to_s, 'message' => utf8(text), 'line' => line }
      # Of the template itself, and not of what it evaluates.
      facts.update('syntax' => true, 'line' => text[/:(\d+): /, 1]&.to_i) if line.nil? && error.is_a?(SyntaxError)
      case error
      when Bosh::Common::Template::UnknownProperty
        facts['properties'] = Array(error.name).map(&:to_s)
        facts['asked'] = error.instance_variable_get(:@boson_asked)
      when Bosh::Common::Template::UnknownLink then facts['link'] = error.name.to_s
      end
      facts
    rescue Exception => e # rubocop:disable Lint/RescueException -- an exception class may override anything
      { 'class' => 'Exception', 'message' => "an exception that cannot be shown (#{e.class})", 'line' => nil }
    end

    def utf8(text)
      text.dup.force_encoding(Encoding::UTF_8).scrub
    end

    # BOSH shows `to_s`. Where older Rubies would put the receiver's `inspect` into it, newer ones' message is used.
    def message(error)
      return error.to_s unless error.is_a?(NameError) && !error.is_a?(KeyError)

      receiver = begin
        error.receiver
      rescue ArgumentError
        return error.to_s
      end
      text = error.to_s
      head = text[/\A(undefined (?:local variable or )?method .|private method .|protected method .)/]
      return text unless head

      "#{head}#{error.name}' #{'called ' if head.start_with?('p')}for #{kind_of(receiver)}"
    end

    def kind_of(object)
      case object
      when nil, true, false then object.inspect
      when Class then "class #{object}"
      when Module then object.equal?(TOPLEVEL_BINDING.receiver) ? 'main' : "module #{object}"
      else "an instance of #{Kernel.instance_method(:class).bind_call(object)}"
      end
    end

    # BOSH: what follows the first colon of the first backtrace line in the template.
    def line(error, file)
      own = error.backtrace&.find { |entry| entry.include?(file) }
      own && own[/:(\d+)/, 1]&.to_i
    end
  end

  operation('work') { |request, output| Templates.work(request, output) }
end
