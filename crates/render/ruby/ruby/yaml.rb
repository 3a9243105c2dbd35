# Reading and writing YAML with Psych, exactly as BOSH's director does.
module Boson
  module Documents
    module_function

    # A value that contains itself has no end for a recursive method (in BOSH: SystemStackError).
    class Endless < StandardError; end

    # BOSH: safe load, aliases allowed, no class but Symbol. Other sets of options read other values from the same text.
    def load(text)
      value = Boson::Loader.load(text)
      refuse_endless(value, {}.compare_by_identity)
      value
    end

    # `known` has every value met so far: true while its content is visited.
    def refuse_endless(value, known)
      return unless value.is_a?(Array) || value.is_a?(Hash)
      raise Endless if known[value]
      return if known.key?(value)

      known[value] = true
      value.is_a?(Hash) ? value.each { |pair| pair.each { |v| refuse_endless(v, known) } } : value.each { |v| refuse_endless(v, known) }
      known[value] = false
    end

    # As `Psych.dump`, which cannot write every String, and builds a tree of nodes first.
    def dump(value)
      Boson.feature('psych')
      text = +''
      emitter = Psych::Emitter.new(StringIO.new(text))
      emitter.start_stream(Psych::Nodes::Stream::UTF8)
      emitter.start_document([], [], false)
      Writer.new(emitter, value).write(value)
      emitter.end_document(true)
      emitter.end_stream
      text
    end

    # Writes plain values as Psych does. Psych itself decides how each scalar is written.
    class Writer
      def initialize(emitter, value)
        @emitter = emitter
        @scalars = Scalars.new
        scanner = Psych::ScalarScanner.new(Psych::ClassLoader.new).extend(Unreadable)
        @psych = Psych::Visitors::YAMLTree.new(@scalars, scanner, {})
        # How each String is written that was met before.
        @known = {}
        @anchors = anchors(value)
        @written = {}.compare_by_identity
      end

      def write(value)
        case value
        when String then @emitter.scalar(*(@known[value] ||= scalar(value)))
        when Array then once(value) { |anchor| sequence(value, anchor) }
        when Hash then once(value) { |anchor| mapping(value, anchor) }
        else @emitter.scalar(*scalar(value))
        end
      end

      private

      def scalar(value)
        @psych.accept(value)
        @scalars.last
      end

      def sequence(items, anchor)
        @emitter.start_sequence(anchor, nil, true, Psych::Nodes::Sequence::BLOCK)
        items.each { |item| write(item) }
        @emitter.end_sequence
      end

      def mapping(pairs, anchor)
        @emitter.start_mapping(anchor, nil, true, Psych::Nodes::Mapping::BLOCK)
        pairs.each { |pair| pair.each { |part| write(part) } }
        @emitter.end_mapping
      end

      # An alias where the object has been written before.
      def once(value)
        anchor = @anchors[value]
        return @emitter.alias(anchor) if anchor && @written[value]

        @written[value] = true if anchor
        yield anchor
      end

      # The anchors of objects that are met twice, numbered in the order in which they are met again.
      def anchors(value, met = {}.compare_by_identity, found = {}.compare_by_identity)
        return found unless value.is_a?(Array) || value.is_a?(Hash)

        if met[value]
          found[value] ||= (found.size + 1).to_s
        else
          met[value] = true
          parts = value.is_a?(Hash) ? value.to_a.flatten(1) : value
          parts.each { |part| anchors(part, met, found) }
        end
        found
      end
    end

    # Takes the scalars that Psych writes.
    class Scalars
      attr_reader :last

      def scalar(*event)
        @last = event
      end
    end

    # A plain scalar that Psych refuses to read (`0x_`) is not a String without quotes.
    module Unreadable
      def tokenize(text)
        super
      rescue ArgumentError
        nil
      end
    end

    # The place of a node: [line, column] from 1. Steps are a mapping's keys and a sequence's indexes; where the path
    # leaves the document, the deepest node that exists is the place.
    def locate(text, path)
      Boson.feature('psych')
      document = Psych.parse(text) or return nil
      anchors = {}
      document.each { |n| anchors[n.anchor] = n if n.respond_to?(:anchor) && n.anchor && !n.is_a?(Psych::Nodes::Alias) }
      node = place = document.root
      path.each do |step|
        node = anchors[node.anchor] while node.is_a?(Psych::Nodes::Alias)
        key, node = child(node, step, anchors)
        break unless node

        place = key || node
      end
      [place.start_line + 1, place.start_column + 1]
    end

    # The place of the first alias whose anchor has not been met, or is that of something around it.
    def odd_alias(text)
      Boson.feature('psych')
      found = invalid_alias_in(Psych.parse(text), {})
      found && [found.start_line + 1, found.start_column + 1]
    rescue Psych::SyntaxError
      nil
    end

    # `anchors` has those that were met: true if the content is complete.
    def invalid_alias_in(node, anchors)
      return anchors[node.anchor] ? nil : node if node.is_a?(Psych::Nodes::Alias)

      anchor = node.anchor if node.respond_to?(:anchor)
      anchors[anchor] = false if anchor
      node.children&.each { |child| (found = invalid_alias_in(child, anchors)) && (return found) }
      anchors[anchor] = true if anchor
      nil
    end

    def child(node, step, anchors)
      case node
      when Psych::Nodes::Sequence then [nil, step.is_a?(Integer) ? node.children[step] : nil]
      when Psych::Nodes::Mapping
        pairs = node.children.each_slice(2).to_a
        found = pairs.reverse.find { |key, _| key.is_a?(Psych::Nodes::Scalar) && key.value == step.to_s }
        found || merged(pairs, step, anchors)
      else [nil, nil]
      end
    end

    def merged(pairs, step, anchors)
      pairs.each do |key, value|
        next unless key.is_a?(Psych::Nodes::Scalar) && key.value == '<<'

        sources = value.is_a?(Psych::Nodes::Sequence) ? value.children : [value]
        sources.each do |source|
          source = anchors[source.anchor] if source.is_a?(Psych::Nodes::Alias)
          found = source ? child(source, step, anchors) : [nil, nil]
          return found if found[1]
        end
      end
      [nil, nil]
    end
  end

  operation('load_yaml') do |texts|
    texts.map do |text|
      [true, Documents.load(text)]
    rescue StandardError, SystemStackError => e
      line, column = Documents.odd_alias(text) if e.is_a?(Psych::BadAlias) || e.is_a?(Documents::Endless)
      [false, describe(e).merge({ 'line' => line, 'column' => column }.compact)]
    end
  end
  # What a plain scalar stands for.
  operation('scalar') { |text| Loader.scanner.tokenize(text) }
  operation('dump_yaml') { |values| values.map { |value| Documents.dump(value) } }
  operation('locate') { |(text, paths)| paths.map { |path| Documents.locate(text, path) } }
end
