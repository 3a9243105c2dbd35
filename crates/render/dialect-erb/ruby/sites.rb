# Where the code of a template branches, and the calls of Boson::Trace that show which way an evaluation takes.
module Boson
  class Sites
    LOOPS = %i[each each_entry each_key each_pair each_value each_with_index times].freeze
    OPTIONAL = %i[if_p if_link else_if_p else_if_link].freeze
    # Conditions that mean something else as an argument.
    SPECIAL = %i[MATCH FLIP2 FLIP3].freeze

    # `code` is the code of a template in the lines and columns that it has there. Gives the lines with statements; sites
    # [line, kind, name, lines of arms, whether there is one more way]; and insertions [line, column, text]. Nothing for code
    # that does not compile.
    def self.of(code)
      verbose = $VERBOSE
      $VERBOSE = nil
      lines = statements(RubyVM::InstructionSequence.compile(code, 'template', nil, 1))
      [lines.uniq.sort, *new(code).result]
    rescue SyntaxError, SystemStackError
      [[], [], []]
    ensure
      $VERBOSE = verbose
    end

    def self.statements(sequence, found = [])
      sequence.trace_points.each { |line, event| found << line if event == :line }
      sequence.each_child { |child| statements(child, found) }
      found
    end

    def initialize(code)
      @lines = code.b.lines
      @sites = []
      # [line, column, 0 for an end and 1 for a beginning, order, text]
      @insertions = []
      visit(RubyVM::AbstractSyntaxTree.parse(code))
    end

    def result
      [@sites, @insertions.sort_by { |insertion| insertion.first(4) }.map { |line, column, _, _, text| [line, column, text] }]
    end

    private

    def visit(node)
      return unless RubyVM::AbstractSyntaxTree::Node === node

      case node.type
      when :IF, :UNLESS then condition(node)
      when :CASE, :CASE2 then choice(node)
      when :ITER then block(node)
      end
      node.children.each { |child| visit(child) }
    end

    def condition(node)
      test, = node.children
      return unless RubyVM::AbstractSyntaxTree::Node === test && !SPECIAL.include?(test.type)

      kind = node.type == :UNLESS ? 'unless' : 'if'
      kind = 'elsif' if @lines[node.first_lineno - 1].to_s[node.first_column, 5] == 'elsif'
      wrap(test, 'branch', site(node.first_lineno, kind, nil, [node.first_lineno] * 2, false))
    end

    def choice(node)
      arms = arms(node)
      head = node.children.first if node.type == :CASE
      number = site(node.first_lineno, 'case', nil, arms.map { |arm| arm.children.first.first_lineno }, !head.nil?)
      wrap(head, 'enter', number) if head
      arms.each_with_index { |arm, index| mark(arm.children.first, number, index) }
    end

    def arms(node)
      arms = []
      arm = node.children.last
      while RubyVM::AbstractSyntaxTree::Node === arm && arm.type == :WHEN
        arms << arm
        arm = arm.children.last
      end
      arms
    end

    def mark(values, number, index)
      line, column = values.last_lineno, values.last_column
      rest = @lines[line - 1].to_s.byteslice(column..) || ''
      has_then = rest[/\A\s*then\b/]
      text = "::Boson::Trace.take(#{number}, #{index});"
      insert(line, column + has_then.to_s.bytesize, 1, has_then ? " #{text}" : " then #{text}")
    end

    def block(node)
      call, = node.children
      is_function = call.type == :FCALL
      receiver, method, = is_function ? [nil, *call.children] : call.children
      # The line that a frame of the call has.
      line = is_function ? call.first_lineno : call.last_lineno
      if OPTIONAL.include?(method)
        site(line, method.name.delete_prefix('else_'), names(call.children.last), [line] * 2, false)
      elsif LOOPS.include?(method) && RubyVM::AbstractSyntaxTree::Node === receiver
        wrap(receiver, 'items', site(line, method.name, nil, [line] * 2, false))
      end
    end

    # Literal names; `nil` if there are others.
    def names(arguments)
      return unless RubyVM::AbstractSyntaxTree::Node === arguments

      texts = arguments.children.compact.map { |child| child.children.first if child.type == :STR }
      texts.all?(String) ? texts.join(', ') : nil
    end

    def site(*facts)
      @sites << facts
      @sites.size - 1
    end

    def wrap(node, method, number)
      insert(node.first_lineno, node.first_column, 1, "::Boson::Trace.#{method}(#{number}, (")
      insert(node.last_lineno, node.last_column, 0, '))')
    end

    def insert(line, column, rank, text)
      order = @insertions.size
      @insertions << [line, column, rank, rank.zero? ? -order : order, text]
    end
  end

  operation('sites') { |sources| sources.map { |code| Sites.of(code) } }
end
