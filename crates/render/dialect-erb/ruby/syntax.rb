# Syntax trees of templates' code, for tools that examine templates without running them.
module Boson
  module Syntax
    module_function

    # `compiled` is the code that is evaluated, from line 0 on; `in_place` is the same code in the lines and columns of the template.
    # Returns [true, tree or nil] or [false, message of the SyntaxError].
    def parse(compiled, in_place)
      verbose = $VERBOSE
      $VERBOSE = nil
      RubyVM::InstructionSequence.compile(compiled, 'template', nil, 0)
      [true, tree_of(in_place)]
    rescue SyntaxError => e
      [false, e.message]
    ensure
      $VERBOSE = verbose
    end

    # nil for code that means something else between the texts of its template, and for code that is nested too deeply.
    def tree_of(code)
      tree(RubyVM::AbstractSyntaxTree.parse(code))
    rescue SyntaxError, SystemStackError
      nil
    end

    # [kind, first line, first column, last line, last column, children]
    def tree(node)
      [node.type, node.first_lineno, node.first_column, node.last_lineno, node.last_column, node.children.map { |child| part(child) }]
    end

    def part(child)
      case child
      when RubyVM::AbstractSyntaxTree::Node then tree(child)
      when Array then child.map { |name| part(name) }
      when Symbol, String, Integer, nil, true, false then child
      end
    end

    # Methods that a template can call without a receiver, and those of a link.
    def methods_of_templates
      context = Bosh::Common::Template::EvaluationContext
      link = Bosh::Common::Template::EvaluationLink
      [context.instance_methods + context.private_instance_methods, link.instance_methods].map { |names| names.map(&:name) }
    end
  end

  operation('syntax') { |sources| sources.map { |compiled, in_place| Syntax.parse(compiled, in_place) } }
  operation('methods_of_templates') { Syntax.methods_of_templates }
end
