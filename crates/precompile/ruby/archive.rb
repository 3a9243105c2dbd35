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
# Each in a process of its own, so that all that it loads is seen.
loaded = features.to_h do |feature|
  paths = IO.popen('-') do |child|
    next child.read.split("\0") if child

    before = $LOADED_FEATURES.dup
    begin
      require feature
      print(($LOADED_FEATURES - before).join("\0"))
      $stdout.flush
    rescue LoadError
      # Not in this Ruby.
    end
    exit!
  end
  [feature, paths]
end
files = loaded.values.flatten.uniq.grep(/\.rb\z/).to_h do |path|
  [path, place.call(RubyVM::InstructionSequence.compile_file(path))]
end
index = Marshal.dump('ruby' => RUBY_DESCRIPTION, 'sources' => compiled, 'files' => files, 'features' => loaded)
File.binwrite(out, [index.bytesize].pack('N') + index + blob)
