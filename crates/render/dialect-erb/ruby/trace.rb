# How a template renders: which of its pieces give which bytes, which lines run, which way each branch takes, and what is
# read where. For a process of its own, in which the same bytes are rendered as without it.
module Boson
  module Trace
    # A template that outputs more pieces has no map.
    MAX_PIECES = 500_000
    SIZE = String.instance_method(:bytesize)

    module_function

    # Gives what was noted, as a dump: {"bytes" or "failure", "segments", "ran", "lines", "ways", "reads"}.
    def evaluate(spec, unit)
      begin_with(unit['file'])
      done, result = traced { Templates.evaluate(spec, unit.merge('code' => code(unit))) }
      pieces = done ? @pieces.find { |buffer, _| buffer.b == result }&.last : nil
      Marshal.dump(
        (done ? 'bytes' : 'failure') => result, 'segments' => pieces || [], 'ran' => @ran.to_a,
        'lines' => @lines.keys, 'ways' => @ways.to_a.map(&:flatten), 'reads' => @reads.keys
      )
    end

    def begin_with(file)
      @file = file
      # By the text that is output to.
      @pieces = {}.compare_by_identity
      @count = 0
      @ran = Hash.new(0)
      @lines = {}
      @ways = Hash.new(0)
      @reads = {}
      # Structs and links by what templates call them.
      @known = {}.compare_by_identity
      return if @hooked

      @hooked = true
      Hooks.install
    end

    # The code with calls at its branches, if it compiles.
    def code(unit)
      return unit['code'] if unit['branching'].empty?

      verbose = $VERBOSE
      $VERBOSE = nil
      RubyVM::InstructionSequence.compile(unit['branching'], unit['file'], nil, 0)
      unit['branching']
    rescue SyntaxError
      unit['code']
    ensure
      $VERBOSE = verbose
    end

    def traced(&work)
      lines = TracePoint.new(:line) { |point| @lines[point.lineno] = true if point.path == @file }
      structs = TracePoint.new(:return) { |point| struct(point) }
      lines.enable { structs.enable(&work) }
    end

    # Notes an output; gives it.
    def note(number, buffer, content)
      @ran[number] += 1
      if ::String === buffer && ::String === content && (@count += 1) <= MAX_PIECES
        at = SIZE.bind_call(buffer)
        (@pieces[buffer] ||= []) << [number, at, at + SIZE.bind_call(content)]
      end
      content
    end

    # The way that a condition takes; gives its value.
    def branch(number, value)
      take(number, value ? 0 : 1)
      value
    end

    # The way of a loop over these items; gives them.
    def items(number, value)
      is_empty = case value
                 when nil then true
                 when ::Array, ::Hash then value.empty?
                 when ::Integer then value < 1
                 end
      take(number, is_empty ? 1 : 0)
      value
    end

    # A `case` begins; gives what it compares.
    def enter(number, value)
      @ways[[number, -1]] += 1
      value
    end

    # A branch takes this way.
    def take(number, way)
      @ways[[number, way]] += 1
      nil
    end

    def place
      caller_locations.find { |location| location.path == @file }&.lineno
    end

    # What a template reads: [line, kind, names].
    def read(kind, *names)
      line = place
      @reads[[line, kind, *names.map { |name| ::String === name ? name.dup : name.to_s }]] = true if line
    end

    # `if_p` or `if_link`, whose line and name recognise it.
    def optional(kind, names, is_found)
      line = place
      @ways[[line, kind, names.map(&:to_s).join(', '), is_found ? 0 : 1]] += 1 if line
    end

    def known(object, path)
      case object
      when ::OpenStruct, ::Bosh::Common::Template::EvaluationLink, ::Bosh::Common::Template::EvaluationLinkInstance
        @known[object] = path
      when ::Array then object.each { |item| known(item, path) }
      end
      object
    end

    def path_of(object)
      @known[object]
    end

    # A method of a struct returns.
    def struct(point)
      object = point.self
      if ::Boson::LazySpec === object
        return unless point.method_id == :method_missing

        return found("spec.#{point.binding.local_variable_get(:name)}", point.return_value)
      end
      return unless ::OpenStruct === object && (path = @known[object])

      key = key_of(point)
      found(key ? "#{path}.#{key}" : path, point.return_value) if key != :none
    end

    # The member that a method of a struct gives; `nil` for the whole struct, :none for what is not the template's call.
    def key_of(point)
      case point.method_id
      when :method_missing then point.binding.local_variable_get(:mid)
      when :[], :dig then point.binding.local_variable_get(:name)
      when :to_h, :each_pair, :marshal_dump, :methods, :respond_to?, :== then nil
      else
        point.self.instance_variable_get(:@table).key?(point.method_id) ? point.method_id : :none
      end
    rescue ::NameError
      :none
    end

    # A value of a struct; a struct itself is not read yet.
    def found(path, value)
      known(value, path)
      return if ::OpenStruct === value

      root, name = path.split('.', 2)
      read(root == 'properties' ? 'p' : root, name) if name
    end

    # Notes what templates call. The methods stay those of their classes, which a template may look at, and may replace.
    module Hooks
      module_function

      def install
        context = ::Bosh::Common::Template::EvaluationContext
        links = [::Bosh::Common::Template::EvaluationLink, ::Bosh::Common::Template::EvaluationLinkInstance]
        [context, *links].each { |owner| properties(owner) }
        links(context)
        names(context)
        replace(links.first, :instances) { |link, _, call| Trace.known(call.(), Trace.path_of(link)) }
      end

      def properties(owner)
        replace(owner, :p) do |receiver, (names), call|
          Array(names).each { |name| property(receiver, name) }
          call.()
        end
        replace(owner, :if_p) do |receiver, names, call|
          names.each { |name| property(receiver, name) }
          optional('if_p', names, call)
        end
      end

      def property(receiver, name)
        path = Trace.path_of(receiver)
        path ? Trace.read('link', path, name) : Trace.read('p', name)
      end

      def links(owner)
        replace(owner, :link) do |_, (name), call|
          Trace.read('link', name)
          Trace.known(call.(), name.to_s)
        end
        replace(owner, :if_link) do |_, (name), call|
          Trace.read('link', name)
          Trace.link = name.to_s
          optional('if_link', [name], call)
        end
        # The link of the block of `if_link`.
        replace(owner, :create_evaluation_link) { |_, _, call| Trace.known(call.(), Trace.link.to_s) }
      end

      def names(owner)
        %i[name index].each do |name|
          replace(owner, name) do |_, _, call|
            Trace.read('spec', name)
            call.()
          end
        end
        %i[spec properties].each do |name|
          replace(owner, name) { |_, _, call| Trace.known(call.(), name.name) }
        end
      end

      # A block that raises, or that leaves the method, was called.
      def optional(kind, names, call)
        result = nil
        result = call.()
      ensure
        is_absent = ::Bosh::Common::Template::EvaluationContext::ActiveElseBlock === result
        Trace.optional(kind, names, !is_absent)
      end

      # `note` gets the receiver, the arguments, and what calls the method.
      def replace(owner, name, &note)
        original = owner.instance_method(name)
        is_private = owner.private_method_defined?(name)
        owner.define_method(name) do |*arguments, &block|
          note.(self, arguments, -> { original.bind_call(self, *arguments, &block) })
        end
        owner.__send__(:private, name) if is_private
      end
    end

    class << self
      # The name of the link that a template asks for.
      attr_accessor :link
    end
  end
end
