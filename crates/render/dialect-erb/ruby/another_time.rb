module Boson
  # Makes what may differ from one rendering to the next differ: the clock, chance, addresses and hash values. For a process of
  # its own.
  module AnotherTime
    LATER = 400 * 24 * 3600 + 3661

    module_function

    def begin
      shift(::Time, :now, LATER)
      shift(::Process, :clock_gettime, LATER)
      shift(::Date, :today, 401) if defined?(::Date)
      shift(::DateTime, :now, 401) if defined?(::DateTime)
      shift_new_time
      # Every process that is not forked has other hash values.
      [::String, ::Symbol].each do |owner|
        original = owner.instance_method(:hash)
        owner.define_method(:hash) { original.bind_call(self) ^ 1 }
      end
      ::Kernel.srand(::Random.new_seed)
      100.times { ::Object.new.object_id }
    end

    def shift(owner, name, by)
      original = owner.method(name)
      owner.define_singleton_method(name) { |*arguments, **options| original.call(*arguments, **options) + by }
    end

    # Without arguments it is the current time; Time.now calls it in some versions of Ruby.
    def shift_new_time
      original = ::Time.method(:new)
      ::Time.define_singleton_method(:new) do |*arguments, **options|
        time = original.call(*arguments, **options)
        arguments.empty? ? time + LATER : time
      end
    end
  end
end
