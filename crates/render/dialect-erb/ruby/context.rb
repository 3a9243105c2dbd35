# What BOSH's templates are evaluated in: the binding and everything reachable from it.
# Names, visibility and messages are BOSH's (bosh-common, Bosh::Common::Template), because templates see them.
Boson.feature('ostruct')

module Bosh
  module Common; end
end

module Boson
  # `p` and `if_p` over a Hash of properties: methods of each class that has them, as in BOSH, because a template may
  # replace them. (A block, and no text: a text would be parsed for each class when a process starts.)
  module Lookup
    READ = ::Object.instance_method(:instance_variable_get)

    def self.define(owner)
      owner.class_eval do
        def p(*args)
          names = Array(args[0])
          names.each do |name|
            value = lookup_property(Lookup.properties(self), name)
            return value unless value.nil?
          end
          return args[1] if args.length == 2

          raise Lookup.missing(self, names)
        end

        def if_p(*names)
          values = names.map do |name|
            value = lookup_property(Lookup.properties(self), name)
            return Bosh::Common::Template::EvaluationContext::ActiveElseBlock.new(self) if value.nil?

            value
          end
          yield(*values)
          Bosh::Common::Template::EvaluationContext::InactiveElseBlock.new
        end
      end
    end

    # What was asked goes with the exception: hints depend on it.
    def self.missing(owner, names)
      asked = case owner
              when ::Bosh::Common::Template::EvaluationLink then 'link'
              when ::Bosh::Common::Template::EvaluationLinkInstance then 'instance'
              end
      ::Bosh::Common::Template::UnknownProperty.new(names).tap { |e| e.instance_variable_set(:@boson_asked, asked) }
    end

    # Read each time: a template may set the variable.
    def self.properties(owner)
      whole = ::Bosh::Common::Template::EvaluationContext === owner
      READ.bind_call(owner, whole ? :@raw_properties : :@properties)
    end
  end

  # Stands for a BackCompatOpenStruct and builds of it only what is asked for: `spec.index` must not pay for the
  # properties and links of a job.
  class LazySpec < BasicObject
    %i[== != ! equal? instance_eval instance_exec].each { |name| undef_method(name) }

    # `read` gets the keys that are asked for.
    def initialize(raw, read, build)
      @raw = raw
      @read = read
      @build = build
      @built = {}
      @whole = nil
    end

    def method_missing(name, *args, **options, &block)
      if @whole.nil? && args.empty? && options.empty? && block.nil? && @raw.key?(key = name.name)
        @read[key] = true
        return @built.fetch(key) { @built[key] = @build.call(@raw[key]) }
      end
      whole.public_send(name, *args, **options, &block)
    end

    def respond_to_missing?(name, all = false)
      whole.respond_to?(name, all)
    end

    def whole
      @raw.each_key { |key| @read[key] = true }
      @whole ||= ::Bosh::Common::Template::EvaluationContext::BackCompatOpenStruct.new(
        @raw.to_h { |key, value| [key, @built.fetch(key) { @build.call(value) }] }
      )
    end
  end
end

module Bosh::Common
  module Template
    class UnknownProperty < StandardError
      attr_reader :name

      def initialize(names)
        @name = names
        super("Can't find property '#{names.inspect}'")
      end
    end

    class UnknownLink < StandardError
      attr_reader :name

      def initialize(name)
        @name = name
        super("Can't find link '#{name}'")
      end
    end

    class InvalidPropertyType < StandardError; end

    # Dotted names in nested Hashes.
    module PropertyHelper
      # No check of what lies on the way: a String answers `[]` with a substring, and templates may rely on it.
      def lookup_property(collection, name)
        return nil if collection.nil?

        name.split('.').each do |key|
          collection = collection[key]
          return nil if collection.nil?
        end
        collection
      end

      def copy_property(destination, source, name, default = nil)
        validate_properties_format(source, name)
        value = lookup_property(source, name)
        set_property(destination, name, value.nil? ? default : value)
      end

      def set_property(destination, name, value)
        *parents, last = name.split('.')
        parents.each { |key| destination = (destination[key] ||= {}) }
        destination[last] = value
      end

      def sort_property(property)
        return property unless property.is_a?(Hash)

        property.each { |key, value| property[key] = sort_property(value) }.sort.to_h
      end

      def validate_properties_format(properties, name)
        name.split('.').each do |key|
          unless properties.is_a?(Hash)
            raise InvalidPropertyType, "Property '#{name}' expects a hash, but received '#{properties.class}'"
          end

          properties = properties[key]
          break if properties.nil?
        end
      end
    end

    # An instance of a link's provider.
    class EvaluationLinkInstance
      include PropertyHelper
      Boson::Lookup.define(self)
      attr_reader :name, :index, :id, :az, :address, :properties, :bootstrap

      def initialize(facts)
        @name, @index, @id, @az, @address, @properties, @bootstrap =
          facts.values_at('name', 'index', 'id', 'az', 'address', 'properties', 'bootstrap')
      end
    end

    # What `link(name)` gives.
    class EvaluationLink
      include PropertyHelper
      Boson::Lookup.define(self)
      attr_reader :properties

      # The instances are built when they are asked for: a template may ask for one link once for each of them.
      def initialize(facts)
        @facts = facts['instances']
        @instances = nil
        @properties = facts['properties']
        @address = facts['address']
        # BOSH: no Array is an error at once.
        instances unless @facts.is_a?(Array)
      end

      def instances
        @instances ||= @facts.map { |facts| EvaluationLinkInstance.new(facts) }
      end

      # In a pod a group has one address, the same for every criterion (BOSH: a query by DNS).
      def address(criteria = {})
        criteria.merge({})
        @address
      end
    end

    class EvaluationContext
      include PropertyHelper
      Boson::Lookup.define(self)

      # `if_p` that found nothing.
      class ActiveElseBlock
        def initialize(context)
          @context = context
        end

        def else
          yield
        end

        def else_if_p(*names, &block)
          @context.if_p(*names, &block)
        end

        def else_if_link(name, &block)
          @context.if_link(name, &block)
        end
      end

      # `if_p` that found everything.
      class InactiveElseBlock
        def else; end

        def else_if_p(*_names)
          InactiveElseBlock.new
        end

        def else_if_link(_name)
          InactiveElseBlock.new
        end
      end

      # Templates find a network by `spec.networks.methods(false).first`.
      class BackCompatOpenStruct < OpenStruct
        def methods(regular = true)
          regular ? super(regular) : marshal_dump.keys.map(&:to_sym)
        end
      end

      attr_reader :raw_properties

      # `eager` builds the structs at once, where the template could see the difference. Otherwise `read` gets the keys of the
      # spec that the template reads.
      def initialize(spec, eager = false, read = {})
        @name = spec['name']
        @index = spec['index']
        @spec = openstruct(spec, BackCompatOpenStruct) if eager
        @raw_properties = spec['properties'] || {}
        @properties = openstruct(@raw_properties) if eager
        @dns_encoder = nil
        @links = spec['links'] || {}
        return if eager

        @boson_spec = spec
        @boson_read = read
      end

      def name
        @boson_read['name'] = true if @boson_read
        @name
      end

      def index
        @boson_read['index'] = true if @boson_read
        @index
      end

      def ==(other)
        equal?(other) || %i[spec raw_properties name index properties].all? do |member|
          other.respond_to?(member) && send(member) == other.send(member)
        end
      end

      def properties
        @properties ||= openstruct(@raw_properties)
      end

      def spec
        @spec ||= Boson::LazySpec.new(@boson_spec, @boson_read, ->(value) { openstruct(value, BackCompatOpenStruct) })
      end

      def get_binding
        binding
      end

      def link(name)
        found = lookup_property(@links, name)
        raise UnknownLink.new(name) if found.nil? || !found.has_key?('instances')

        create_evaluation_link(found)
      end

      def if_link(name)
        found = lookup_property(@links, name)
        return ActiveElseBlock.new(self) if found.nil? || !found.has_key?('instances')

        yield(create_evaluation_link(found))
        InactiveElseBlock.new
      end

      # Messages of NameError show their receiver on older Rubies; a context holds every secret of its job.
      def inspect
        '#<Bosh::Common::Template::EvaluationContext>'
      end

      private

      def create_evaluation_link(found)
        EvaluationLink.new(found)
      end

      def openstruct(object, struct = OpenStruct)
        case object
        when Hash then struct.new(object.transform_values { |value| openstruct(value, struct) })
        when Array then object.map { |item| openstruct(item, struct) }
        else object
        end
      end
    end
  end
end

# The name that releases older than today's director know.
Bosh::Template = Bosh::Common::Template
