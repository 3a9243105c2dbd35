# Evaluated in front of a template, in a process of its own: what may differ from one rendering to the next does differ.
-> {
  later = 400 * 24 * 3600 + 3661
  shift = lambda do |owner, name, by|
    original = owner.method(name)
    owner.define_singleton_method(name) { |*arguments, **options| original.call(*arguments, **options) + by }
  end
  shift.call(::Time, :now, later)
  shift.call(::Process, :clock_gettime, later)
  shift.call(::Date, :today, 401) if defined?(::Date)
  shift.call(::DateTime, :now, 401) if defined?(::DateTime)
  # Without arguments it is the current time; Time.now calls it in some versions of Ruby.
  new_time = ::Time.method(:new)
  ::Time.define_singleton_method(:new) do |*arguments, **options|
    time = new_time.call(*arguments, **options)
    arguments.empty? ? time + later : time
  end
  # Every process that is not forked has other hash values.
  [::String, ::Symbol].each do |owner|
    original = owner.instance_method(:hash)
    owner.define_method(:hash) { original.bind_call(self) ^ 1 }
  end
  ::Kernel.srand(::Random.new_seed)
  1000.times { ::Object.new.object_id }
}.call
