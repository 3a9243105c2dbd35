# Psych's parser and Psych's reading of scalars, without the tree in between: the values of a document are built as its
# events come. What is rare (tags on collections) is left to Psych as a whole.
# Reading needs a part of Psych only.
Boson.part('psych', %w[
  strscan.so psych.so psych/omap.rb psych/set.rb psych/exception.rb psych/syntax_error.rb psych/class_loader.rb
  psych/scalar_scanner.rb psych/handler.rb psych/parser.rb
])

module Boson
  class Loader < Psych::Handler
    NONE = Object.new.freeze
    RARE = Object.new.freeze
    ITSELF = Object.new.freeze
    # About what Psych's own recursion can read; what walks the values later recurses too.
    DEEPEST = 1_300

    # The first document's value, as `Psych.safe_load(text, permitted_classes: [Symbol], aliases: true)` gives it.
    def self.load(text)
      value = read(text)
      return value unless RARE.equal?(value)

      Boson.feature('psych')
      Psych.safe_load(text, permitted_classes: [Symbol], aliases: true)
    end

    def self.read(text)
      loader = new
      catch(:boson_loaded) { Psych::Parser.new(loader).parse(text) && nil }
    rescue Psych::BadAlias, Psych::DisallowedClass, ArgumentError
      # Psych reads to the document's end before it builds: an error of syntax further down comes first.
      RARE
    end
    private_class_method :read

    # What plain scalars stand for.
    def self.scanner(class_loader = Psych::ClassLoader::Restricted.new(['Symbol'], []))
      Psych::ScalarScanner.new(class_loader)
    end

    def initialize
      @class_loader = Psych::ClassLoader::Restricted.new(['Symbol'], [])
      @scanner = Loader.scanner(@class_loader)
      @tagged = nil
      # What plain scalars that were met before stand for; ITSELF for a String.
      @known = {}
      @anchors = {}
      # What is being built, and above it what that is part of. A Hash has the key that waits for its value beside it.
      @top = @key = NONE
      @key_tag = nil
      @above = []
    end

    def scalar(value, anchor, tag, implicit, quoted, style)
      unless quoted
        value = tag ? tagged(value, tag, implicit, style) : plain(value)
      end
      @anchors[anchor] = value if anchor
      if @top.is_a?(Hash) && NONE.equal?(@key)
        @key = value.is_a?(String) ? -value : value
        @key_tag = tag
      else
        add(value, :scalar)
      end
    end

    def start_sequence(anchor, tag, _implicit, _style)
      throw :boson_loaded, RARE if tag
      open([], anchor)
    end

    def start_mapping(anchor, tag, _implicit, _style)
      throw :boson_loaded, RARE if tag
      open({}, anchor)
    end

    def end_sequence
      close(:sequence)
    end

    def end_mapping
      close(:mapping)
    end

    def alias(anchor)
      value = @anchors.fetch(anchor) { raise Psych::BadAlias, "Unknown alias: #{anchor}" }
      if @top.is_a?(Hash) && NONE.equal?(@key)
        @key = value.is_a?(String) ? -value : value
        @key_tag = nil
      else
        add(value, :alias)
      end
    end

    def end_document(_implicit)
      throw :boson_loaded, @top
    end

    private

    def open(container, anchor)
      raise SystemStackError, 'nested too deeply' if @above.size >= 3 * DEEPEST

      @anchors[anchor] = container if anchor
      @above.push(@top, @key, @key_tag)
      @top = container
      @key = NONE
    end

    def close(kind)
      value = @top
      @key_tag = @above.pop
      @key = @above.pop
      @top = @above.pop
      if @top.is_a?(Hash) && NONE.equal?(@key)
        @key = value
        @key_tag = nil
      else
        add(value, kind)
      end
    end

    def add(value, kind)
      case @top
      when Hash
        if @key == '<<' && @key_tag != 'tag:yaml.org,2002:str'
          merge(value, kind)
        else
          @top[@key] = value
        end
        @key = NONE
      when Array then @top.push(value)
      else @top = value
      end
    end

    def merge(value, kind)
      case kind
      when :alias, :mapping then @top.merge!(value)
      when :sequence then @top.merge!(value.reverse_each.with_object({}) { |other, merged| merged.merge!(other) })
      else @top[@key] = value
      end
    rescue TypeError
      @top[@key] = value
    end

    def plain(text)
      known = @known[text]
      return ITSELF.equal?(known) ? text : known unless known.nil?

      value = @scanner.tokenize(text)
      case value
      when String then @known[text] = ITSELF
      when Symbol, true, false then @known[text] = value
      when Integer then @known[text] = value if value.bit_length < 62
      end
      value
    end

    def tagged(value, tag, implicit, style)
      Boson.feature('psych') unless @tagged
      @tagged ||= Psych::Visitors::ToRuby.new(@scanner, @class_loader)
      @tagged.accept(Psych::Nodes::Scalar.new(value, nil, tag, implicit, false, style))
    end
  end
end
