# Writes an archive: for each source its instruction sequence, for each feature the files that requiring it loads, in the
# order in which they were complete.
out = ARGV.shift
sources, features = ARGV.slice_before('--features').to_a
features = ARGV[0] == '--features' ? ARGV.drop(1) : (features || []).drop(1)
sources = [] if ARGV[0] == '--features'

compiled = sources.to_h do |source|
  name, path = source.split('=', 2)
  [name, RubyVM::InstructionSequence.compile(File.read(path), "<boson>/#{name}.rb", "<boson>/#{name}.rb", 1).to_binary]
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
  paths.grep(/\.rb\z/) { |path| files[path] = RubyVM::InstructionSequence.compile_file(path).to_binary }
  [feature, paths]
end
File.binwrite(out, Marshal.dump('ruby' => RUBY_DESCRIPTION, 'sources' => compiled, 'files' => files, 'features' => loaded))
