# Evaluates templates, in processes forked from one that itself never runs a template's code. Whatever a template does to
# its process ends with it.
module Boson
  module Templates
    module_function

    # `request`: "commons" (Marshal of [properties, links]), "contexts" ([which of them is its, Marshal of the rest of the
    # spec]), "units" ([index of the context, {"file", "code", "erb", "isolation", "eager"}]), "features" (libraries to
    # load before). Writes for each unit a frame: its length, and T and bytes, or F and Marshal of facts.
    def work(request, output)
      Signal.trap(COLLECT) { GC.enable }
      utc
      Process.setpgid(0, 0)
      [$stdin, $stdout, $stderr].each { |io| io.reopen(File::NULL, io.equal?($stdin) ? 'r' : 'w') }
      # Before any template runs: what templates in processes of their own use is loaded once.
      request['features'].each { |feature| Boson.feature(feature) }
      contexts = Contexts.new(request['commons'], request['contexts'])
      request['units'].each do |context, unit|
        case unit['isolation']
        when 'shared' then send_result(output, evaluate(contexts.shared(context), unit))
        when 'copy' then send_result(output, evaluate_apart(contexts.copy(context), unit))
        else send_result(output, in_own_process(contexts.shared(context), unit))
        end
      end
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
        @last = @last_index = nil
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

    # A process of its own for a template that may leave something behind. What it sends is checked here: it may have
    # broken anything in its process, but nothing in this one.
    def in_own_process(spec, unit)
      reader, writer = IO.pipe(binmode: true)
      writer.sync = true
      parent = Process.pid
      pid = Process.fork do
        Boson.end_with(parent)
        reader.close
        WRITE.bind_call(writer, Marshal.dump(evaluate(spec, unit)))
        Process.exit!(0)
      ensure
        Process.exit!(9)
      end
      writer.close
      result = received(reader)
      _, status = Process.wait2(pid)
      status.success? && result ? result : [false, LOST]
    ensure
      reader.close
    end

    def received(reader)
      done, result = Marshal.load(reader)
      [done, result] if done == true && result.is_a?(String) || done == false && result.is_a?(Hash)
    rescue EOFError, TypeError, ArgumentError, NameError
      nil
    end

    WRITE = IO.instance_method(:write)
    LOST = { 'class' => 'Boson::Lost', 'message' => 'ended the process it was evaluated in', 'line' => nil }.freeze

    def send_result(output, (done, result))
      result = Marshal.dump(result) unless done
      output.write([result.bytesize + 1].pack('N'), done ? 'T' : 'F', result)
    end

    # One template with objects of its own; the methods and constants that it defines go with it.
    def evaluate_apart(spec, unit)
      evaluate(spec, unit)
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

    # One template in the current process.
    def evaluate(spec, unit)
      context = Bosh::Common::Template::EvaluationContext.new(spec, unit['eager'])
      code = unit['erb'] ? compiled(unit) : unit['code']
      output = eval(code, context.get_binding, unit['file'], 0) # rubocop:disable Security/Eval
      [true, output.to_s.b]
    rescue Exception => e # rubocop:disable Lint/RescueException -- BOSH rescues it too: exit and syntax errors included
      [false, facts(e, unit['file'])]
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
