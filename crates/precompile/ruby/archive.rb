# Writes an archive: the length of an index, the index, instruction sequences. The index is Marshal; it knows where the
# sequence of each source and file is, and for each feature the files that requiring it loads, in the order in which they
# were complete.
out = ARGV.shift
sources, features = ARGV.slice_before('--features').to_a
features = ARGV[0] == '--features' ? ARGV.drop(1) : (features || []).drop(1)
sources = [] if ARGV[0] == '--features'

blob = +''.b
place = lambda do |sequence|
  binary = sequence.to_binary
  blob << binary
  [blob.bytesize - binary.bytesize, binary.bytesize]
end
compiled = sources.to_h do |source|
  name, path = source.split('=', 2)
  file = "<boson>/#{name}.rb"
  [name, place.call(RubyVM::InstructionSequence.compile(File.read(path), file, file, 1))]
end
files = {}
loaded = features.to_h do |feature|
  before = $LOADED_FEATURES.dup
  begin
    require feature
  rescue LoadError
    next [feature, []]
  end
  paths = $LOADED_FEATURES - before
  paths.grep(/\.rb\z/) { |path| files[path] = place.call(RubyVM::InstructionSequence.compile_file(path)) }
  [feature, paths]
end
index = Marshal.dump('ruby' => RUBY_DESCRIPTION, 'sources' => compiled, 'files' => files, 'features' => loaded)
File.binwrite(out, [index.bytesize].pack('N') + index + blob)
