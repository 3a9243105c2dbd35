# Writes an archive of instruction sequences. It is read where it lies, without being unpacked:
#
#   u32 place, u32 size   RUBY_DESCRIPTION
#   u32                   1 if the whole library is in it, else 0
#   3 x u32 place, u32 n  the tables of sources, files and features
#
# A table is n times u32 place, u32 size of a name and u32 place, u32 size of what it stands for, sorted by name. Names of
# sources and files stand for their sequences; a feature's for the files that requiring it loads, in the order in which they
# were complete, separated by NUL. Numbers are little-endian, places count from the archive's start; sequences are aligned
# to 8 bytes, because Ruby copies one that is not.
#
# Where the whole library is to be in the executable ($BOSON_RUBY_LIBRARY is its directory), files have the names under which
# they are required instead of paths, and all are there.
out = ARGV.shift
sources, features = ARGV.slice_before('--features').to_a
features = ARGV[0] == '--features' ? ARGV.drop(1) : (features || []).drop(1)
sources = [] if ARGV[0] == '--features'

library = ENV['BOSON_RUBY_LIBRARY'] unless features.empty?
# Libraries that no template can use or that are not a part of Ruby's library: package managers, tools of developers, objects of
# other processes, documents of web servers, downloads, command lines.
NOT_EMBEDDED = %w[
  bundled_gems bundled_gems.rb bundler bundler.rb cgi/html.rb cgi/session cgi/session.rb debug did_you_mean did_you_mean.rb drb drb.rb
  error_highlight error_highlight.rb fiddle fiddle.rb getoptlong.rb irb irb.rb mkmf.rb open-uri.rb prism prism.rb racc rdoc rdoc.rb
  readline.rb reline reline.rb rinda ripper ripper.rb ruby_vm rubygems rubygems.rb syntax_suggest syntax_suggest.rb un.rb
].freeze
places = library ? [library, "#{library}/#{RUBY_PLATFORM}"].map { |dir| "#{dir}/" } : []
name_of = ->(path) { path.delete_prefix(places.select { |place| path.start_with?(place) }.max_by(&:size).to_s) }

HEADER = 4 * (2 + 1 + 3 * 2)
blob = "\0".b * HEADER
place = lambda do |bytes|
  blob << bytes.b
  [blob.bytesize - bytes.bytesize, bytes.bytesize]
end
align = -> { blob << "\0" * (-blob.bytesize % 8) }
binary = lambda do |sequence|
  align.call
  place.call(sequence.to_binary)
end
table = lambda do |entries|
  rows = entries.sort_by { |name, _| name.b }.flat_map { |name, value| place.call(name) + value }
  align.call
  [place.call(rows.pack('V*')).first, entries.size]
end
compiled = sources.to_h do |source|
  name, path = source.split('=', 2)
  file = "<boson>/#{name}.rb"
  [name, binary.call(RubyVM::InstructionSequence.compile(File.read(path), file, file, 1))]
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
loaded.transform_values! { |paths| paths.map(&name_of) }
# Loading OpenSSL reads every certificate that the machine trusts, which takes longer than all the rest of it; that is put off
# until somebody asks for them. The lines keep their numbers.
TRUSTED = /^( *)(DEFAULT_CERT_STORE) = (OpenSSL::X509::Store\.new)(?: #.*)?\n *\2\.set_default_paths\n( *\2\.flags = (.*)\n)?/
WHEN_ASKED = <<~'RUBY'.chomp
  def self.const_missing(name)
    return super unless name == :DEFAULT_CERT_STORE

    const_set(name, OpenSSL::X509::Store.new.tap { |store| store.set_default_paths; FLAGS })
  end
RUBY
source_of = lambda do |path|
  text = File.read(path)
  next text unless path.end_with?('/openssl/ssl.rb')

  text.sub(TRUSTED) do |lines|
    flags = Regexp.last_match(5)
    WHEN_ASKED.sub('FLAGS', flags ? "store.flags = #{flags}" : '').tr("\n", ';') + "\n" * lines.count("\n")
  end
end
files = loaded.values.flatten.uniq.grep(/\.rb\z/).to_h { |path| [path, path] } unless library
files ||= Dir["#{library}/**/*.rb"].to_h { |path| [name_of.call(path), path] }
                                  .reject { |name, _| NOT_EMBEDDED.any? { |left_out| name == left_out || name.start_with?("#{left_out}/") } }.sort.to_h
files = files.to_h do |name, path|
  next [name, binary.call(RubyVM::InstructionSequence.compile(source_of.call(path), path, path, 1))] unless library

  file = "<boson>/lib/#{name}"
  [name, binary.call(RubyVM::InstructionSequence.compile(source_of.call(path), file, file, 1))]
end
header = place.call(RUBY_DESCRIPTION) + [library ? 1 : 0]
header += [compiled, files, loaded.transform_values { |paths| place.call(paths.join("\0")) }].flat_map(&table)
blob[0, HEADER] = header.pack('V*')
File.binwrite(out, blob)
