# Evaluates templates in processes forked from this one, which itself never runs a template's code. Whatever a template
# does to its process ends with it.
module Boson
  module Templates
    module_function

    # `request`: "contexts" (specs), "units" ({"context", "file", "code", "isolation", "eager", "features"}), "workers",
    # "timeout" (seconds for each unit). Gives for each unit [true, bytes] or [false, facts].
    def render(request)
      pool = Pool.new(request)
      pool.run
    ensure
      pool&.stop
    end

    # One template with objects of its own; the methods and constants that it defines go with it.
    def evaluate_apart(copies, unit)
      evaluate(Marshal.load(copies), unit)
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
      output = eval(unit['code'], context.get_binding, unit['file'], 0) # rubocop:disable Security/Eval
      [true, output.to_s.b]
    rescue Exception => e # rubocop:disable Lint/RescueException -- BOSH rescues it too: exit and syntax errors included
      [false, facts(e, unit['file'])]
    end

    def facts(error, file)
      text = message(error)
      facts = { 'class' => error.class.name.to_s, 'message' => utf8(text), 'line' => line(error, file) }
      case error
      when Bosh::Common::Template::UnknownProperty then facts['properties'] = error.name.map(&:to_s)
      when Bosh::Common::Template::UnknownLink then facts['link'] = error.name.to_s
      end
      facts
    rescue Exception => e # rubocop:disable Lint/RescueException -- an exception class may override anything
      { 'class' => 'Exception', 'message' => "an exception that cannot be shown (#{e.class})", 'line' => nil }
    end

    def utf8(text)
      text.dup.force_encoding(Encoding::UTF_8).scrub
    end

    # BOSH shows `to_s`. Where older Rubies would put the receiver's `inspect` into it, newer ones' words are used.
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
      return error.message[/:(\d+): /, 1]&.to_i if error.is_a?(SyntaxError)

      own = error.backtrace&.find { |entry| entry.include?(file) }
      own && own[/:(\d+)/, 1]&.to_i
    end

    # Forks workers, hands each a run of units, collects what they send.
    class Pool
      TEMPLATES_WITHOUT_GC = 60
      Worker = Struct.new(:pid, :pipe, :units, :buffer, :deadline)

      def initialize(request)
        @contexts = request['contexts']
        @units = request['units']
        @timeout = request['timeout']
        @shares = shares(request['workers'])
        @results = Array.new(@units.size)
        @workers = []
        @copies = {}
      end

      def run
        @shares.each { |share| start(share) }
        watch until @workers.empty?
        @results
      end

      def stop
        @workers.each { |worker| finish(worker) }
      end

      private

      # Runs of units of about the same length of code.
      def shares(workers)
        indexes = (0...@units.size).to_a
        total = @units.sum { |unit| unit['code'].bytesize + 500 }
        passed = 0
        indexes.chunk_while do |before, _after|
          share = passed * workers / [total, 1].max
          passed += @units[before]['code'].bytesize + 500
          passed * workers / [total, 1].max == share
        end.to_a
      end

      def start(units)
        reader, writer = IO.pipe(binmode: true)
        pid = fork do
          reader.close
          work(units, writer)
        ensure
          # No exit handlers: a template may have registered some.
          Process.exit!(0)
        end
        writer.close
        @workers << Worker.new(pid, reader, units.dup, +''.b, now + @timeout)
      end

      def work(units, writer)
        Process.setpgid(0, 0)
        [$stdin, $stdout, $stderr].each { |io| io.reopen(File::NULL, io.equal?($stdin) ? 'r' : 'w') }
        # Before any template runs: what templates in processes of their own use is loaded once.
        units.flat_map { |i| @units[i]['features'] }.uniq.each { |feature| Boson.feature(feature) }
        units.each_with_index do |i, done|
          # A few templates need no collector; many must not grow the process without end.
          GC.enable if done == TEMPLATES_WITHOUT_GC
          unit = @units[i]
          case unit['isolation']
          when 'shared' then send_result(writer, Templates.evaluate(@contexts[unit['context']], unit))
          when 'copy' then send_result(writer, Templates.evaluate_apart(copies(unit['context']), unit))
          else in_own_process(unit, writer)
          end
        end
      end

      # The context's objects, to be loaded again for each template that may change them.
      def copies(context)
        @copies[context] ||= Marshal.dump(@contexts[context])
      end

      # A process of its own for a template that may leave something behind.
      def in_own_process(unit, writer)
        pid = fork do
          send_result(writer, Templates.evaluate(@contexts[unit['context']], unit))
          Process.exit!(0)
        ensure
          Process.exit!(9)
        end
        _, status = Process.wait2(pid)
        send_result(writer, Pool.lost('ended the process it was evaluated in')) unless status.success?
      end

      def send_result(writer, result)
        bytes = Marshal.dump(result)
        writer.write([bytes.bytesize].pack('N') + bytes)
      end

      def watch
        wait = [@workers.map(&:deadline).min - now, 0].max
        ready, = IO.select(@workers.map(&:pipe), nil, nil, wait)
        (ready || []).each { |pipe| receive(@workers.find { |worker| worker.pipe.equal?(pipe) }) }
        @workers.select { |worker| worker.deadline <= now }.each do |worker|
          replace(worker, "took longer than #{@timeout} s, the TEMPLATE_TIMEOUT")
        end
      end

      def receive(worker)
        worker.buffer << worker.pipe.readpartial(1 << 20)
        take(worker) while complete?(worker.buffer)
      rescue EOFError
        replace(worker, 'ended the process it was evaluated in')
      end

      def complete?(buffer)
        buffer.bytesize >= 4 && buffer.bytesize >= 4 + buffer.unpack1('N')
      end

      def take(worker)
        length = worker.buffer.unpack1('N')
        @results[worker.units.shift] = Marshal.load(worker.buffer.byteslice(4, length))
        worker.buffer = worker.buffer.byteslice(4 + length, worker.buffer.bytesize)
        worker.deadline = now + @timeout
      end

      # A worker that is gone or stuck: its current unit has failed, another worker goes on with the rest.
      def replace(worker, why)
        finish(worker)
        @workers.delete(worker)
        current, *rest = worker.units
        @results[current] = Pool.lost(why) if current
        start(rest) unless rest.empty?
      end

      def finish(worker)
        worker.pipe.close unless worker.pipe.closed?
        begin
          Process.kill(:KILL, -worker.pid)
        rescue Errno::ESRCH, Errno::EPERM
          # Gone already, or killed before it had a group of its own.
          Process.kill(:KILL, worker.pid)
        end
        Process.wait(worker.pid)
      end

      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      def self.lost(why)
        [false, { 'class' => 'Boson::Lost', 'message' => why, 'line' => nil }]
      end
    end
  end

  operation('render') { |request| Templates.render(request) }
end
